"""Bodies of requests: streams and ingests."""
