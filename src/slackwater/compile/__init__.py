"""A plan's steps as Spark SQL."""
