"""The nouns: refs, paths, commits, files. Frozen dataclasses, standard library only.

Everything may import this package; it imports nothing of Trunkline but `errors`.
"""
