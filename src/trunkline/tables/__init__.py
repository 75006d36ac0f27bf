"""Tables in repos: what a folder of files is, how its rows are read, written and compared.

Stands on `lake` for versions and on `engine` for Spark; DuckDB and Arrow do what needs no Spark.
`describe` is where everything begins: files of a commit in, a `Table` out.
"""
