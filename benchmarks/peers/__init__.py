"""Programs of others that claims are held against, each run in an environment of its own.

These files import nothing of ours, and what they import is no dependency of the project.
"""
