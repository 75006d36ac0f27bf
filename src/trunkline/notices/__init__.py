"""Who is told of what happened: OpenLineage, webhooks, e-mail, Slack.

Each kind follows the outbox of events in a thread, under a lease so that one process of all does,
and remembers in the catalog how far it has come: what was not delivered is delivered later, now
and then twice. The first time it begins with what is new. Nothing here holds up a job.

`start` is what `serve` calls, and a worker that stays without a server; it gives something to
`stop`.
"""

from trunkline.notices.starting import Notices, start

__all__ = ["Notices", "start"]
