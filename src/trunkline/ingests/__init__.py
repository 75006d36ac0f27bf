"""What comes into a lake from outside.

Once: from what a user names (files, folders, globs, URLs, archives) to files to put. All the
time: ingests, whose sources are in `feeds`, and which a `keeper` holds and commits.

May import `tables`, `engine`, `lake`, `pipelines`, `storage`, `model` and `errors`. Nothing from
outside is trusted: names, addresses, archive members, sizes and rows are checked.
"""
