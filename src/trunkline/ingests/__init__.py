"""From outside into a lake: what a user names to put, and ingests, which go on by themselves.

`sources`, `urls`, `archives` and `walk` turn files, folders, globs, addresses and archives into
files to put. `keeper` holds ingests, `gathering` and `committing` are their loop, `feeds` has a
module for each kind of source. Nothing from outside is trusted: names, addresses, members of
archives and sizes are checked.
"""
