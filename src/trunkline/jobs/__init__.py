"""Jobs: from an open commit to a finished one.

A job resolves its input commits, works out its datums, decides which must run (`planning`),
has them run on Spark (`engine`), puts the output together (`assembly`) and commits
(`finishing`). `worker` claims jobs and keeps the claims alive. Only `sdk` and above import this.

Always true: results are kept by what went into them, so whatever was done once by a job that
failed, was killed or lost its worker is not done again; who lost its claim changes nothing.
"""
