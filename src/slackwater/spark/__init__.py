"""All that touches Spark: the session, and the Java below it. Nothing outside this package imports pyspark.

Importing the package itself imports no pyspark either, so that set-up can look for Java before Spark is there.
"""
