"""The same lake through a server: every method over HTTP, with the same values and errors.

Each file here answers for one part of the interface and overrides all of its methods; a test
holds the two lists together.
"""
