"""Rules about whole trees: an operator with everything below it, written another way."""
