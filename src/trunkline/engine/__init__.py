"""Spark: how it is found, started, given work and stopped. The only importer of pyspark.

`session` holds the driver, `submit` runs sets of datums on it as one job, `runner` is what an
executor does with a set. pyspark is imported when a session starts, never before, and `runner`
does not import it at all.

Always true: what comes back from an executor is bytes of JSON, never a pickle; a task sees no
more of our environment than `launch` lets through; losing the JVM loses no finished work.
"""
