"""Output: what a job has committed goes to the systems that want it, each version once."""
