"""Finding plans: explore what is possible, choose what is best."""
