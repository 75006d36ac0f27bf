"""The executor's side: one set of datums, run to its end in one process. No Spark in here.

`task` is what comes in and goes out, as data. `execute.run_set` does it. What always holds:

- A result is reported only when its bytes are durable: first packs and objects, then the part
  that names them. A killed worker loses at most the last seconds, and a retry repeats nothing
  that a part holds.
- A failure of the user's code is a result. A failure of ours (store, disk) is an exception.
- No process and no file of a datum outlives it, and none outlives this process.
"""
