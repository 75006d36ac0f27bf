"""Streams: jobs that read what is new at their inputs, one micro-batch after another.

`steps` finds what each commit added and `cutting` makes micro-batches of it; the rest runs them
and publishes. All that a stream must remember is in the catalog, in one transaction with the
commit that it belongs to.
"""
