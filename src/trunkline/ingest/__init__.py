"""From what a user names (files, folders, globs, URLs, archives) to files to put.

May import `lake`, `storage`, `model` and `errors`. Nothing here writes to a lake, and
nothing from outside is trusted: names, addresses, archive members and sizes are checked.
"""
