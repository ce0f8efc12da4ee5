"""Everything that touches Spark: the session, and the Java below it.

No other package imports pyspark. Importing this package does not import pyspark either, so that set-up can look for
Java before Spark is installed.
"""
