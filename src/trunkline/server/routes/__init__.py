"""The API, a file for each noun. `api` gathers them under /api/v1."""
