"""How bytes go out: one file, a part of it, or a folder as an archive or a bundle.

Blocks are read by threads and sent by the event loop, one ahead of the other. Nothing is held but
a few of them, and the last is held back until the hash of the file is known to be right: a client
that received as many bytes as were announced received the right ones.
"""
