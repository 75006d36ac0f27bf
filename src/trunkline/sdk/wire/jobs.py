"""Bodies of requests: jobs, datums and logs."""
