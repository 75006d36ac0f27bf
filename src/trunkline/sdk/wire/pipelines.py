"""Bodies of requests: pipelines: applied, planned, listed, steered; schedules, backfills, pools."""
