"""Who asks: tokens, logins, sessions, single sign-on; what is kept of it in the audit log.

`Service.identify` asks `identity`; the routes of `access` ask the rest. Nothing here decides what
somebody may do: that is `calls.Needs` alone.
"""
