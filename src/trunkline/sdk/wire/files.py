"""Bodies of requests: files: read, listed, uploaded and committed."""
