"""A lake for a team: the API, who may do what in it, and the doors that other tools know.

Routes are thin: they read a request, ask the lake as the local interface does, and answer with
its values. Every route declares what it needs (`calls.Needs`); nothing else decides about rights.
Only the command line imports this package. Spark never runs in its process.
"""
