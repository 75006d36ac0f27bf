"""Streams with state: Structured Streaming queries that get their batches from us."""
