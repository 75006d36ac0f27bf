"""An oracle: whatever is done to a table, through whatever door, a plain model says which rows.

`values` has the types and their edge values, `model` rows, conditions and operations as anybody
would write them in Python: no skipping, no statistics, no history. `tables` makes tables up, and
`doors` are the ways to read them. Each other file is a group of operations: it makes cases up, and
tries many of them in one go. `running` runs the groups and makes what differs small.

Cases are made from a seed and not by Hypothesis: one job, one commit and one query try hundreds of
them, where Hypothesis would start each on its own and shrink by running it again; and the same
seed tries the same cases, so that a part of a long run can be run again alone.

    python -m tests.oracle --examples 100000 --seed 7
"""
