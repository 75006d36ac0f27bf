"""Versioning: trees of files, commits on branches, and everything done with them.

`core` opens the two stores and resolves refs. `manifests`, `changes` and `differences` are the
tree. `transaction` is how people's commits reach a branch; a job's come by `jobs.finishing`. Both
end them with `publish`, the only way a branch moves: one database transaction, in which what
follows from it is done too. The rest are verbs: `files` reads, `history` walks and prunes,
`merge` joins, `gc`, `fsck` and `erase` keep house.

Always true: a finished commit never changes; a branch points at a finished commit; whatever a
commit lists was durable before the branch moved. Only gc and erase ever remove bytes.
"""
