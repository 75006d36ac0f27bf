"""Abuse: many clients at work on a lake while its parts are killed, and what was lost by it.

run         puts it together: a lake, its processes, clients, faults, and the closing
processes   servers and workers, as operators start them, and started again when they die
client      one client: acts that it draws by lot, and a plain model of what must be there
acts        what clients do; each says what the lake must hold afterwards
memory      what was acknowledged, on disk before the next act
faults      kills, a full disk, a database that restarts, a clock that jumps
closing     the memory against the lake
"""
