"""How systems of other people are reached: databases, buckets, HTTP, Delta and Iceberg tables.

Nothing here knows the lake. Ingests read through it, egress writes through it. Every error is one
line without a credential in it; libraries that are extras are loaded when they are needed.
"""
