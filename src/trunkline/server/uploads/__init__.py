"""How bytes come in: bodies of any size into the store, kept by a lease until they are committed.

A transaction is a lease in the catalog and nothing in memory: a server that was killed goes on
where it was. What was stored is told to the client by receipts, which it hands back to commit.
"""
