"""Bodies of requests: gc, fsck, erasure, secrets."""
