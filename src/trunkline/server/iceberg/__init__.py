"""The Iceberg door: a catalog of the REST protocol that can only be read, at /iceberg of the API.

Each Parquet table of a repo is an Iceberg table: commits are snapshots, branches and tags are
refs. Nothing is copied and nothing is stored. What Iceberg keeps in files is made when it is
asked for, from our own manifests; its readers fetch it, and the rows, through the S3 door.

A request goes through `app` (who asks, one shape of errors) and `operations` (what it means).
`names` tells what tables are called, `versions` which commits changed one, `metadata` and
`avrofiles` say that in Iceberg's words, `locations` where it is, `catalog` keeps what was made.
"""
