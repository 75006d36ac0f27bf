"""Bodies of requests: users, roles, tokens, logins, the audit log."""
