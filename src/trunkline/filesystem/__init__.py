"""Lake paths as files for every library that knows fsspec: `tl://repo@ref/path`."""
