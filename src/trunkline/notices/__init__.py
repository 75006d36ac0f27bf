"""Who is told of what happened: OpenLineage, webhooks, e-mail, Slack.

Follows the outbox of events, under a lease, and remembers how far it has come.
"""
