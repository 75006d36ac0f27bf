"""The clock: commits a tick when a schedule is due, and moves branches that follow by cron.

May import `lake`, `storage`, `pipelines`, `model` and `errors`; only `sdk` and above import it.
It starts no jobs: a tick is a commit like any other, and what reads it runs.

Always true: a slot fires at most once, however many tickers there are and wherever one of them
dies or is paused, because the claim on the slot and its commit are one database transaction.
The database's clock decides what is due.
"""
