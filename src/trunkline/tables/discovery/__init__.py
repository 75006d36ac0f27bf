"""What the files of a folder are: formats, columns, statistics. Found once, and remembered."""
