"""Transactions that clients write to: a lease keeps what they upload from gc.

The lease runs out when nothing is heard of its client. The moment it was taken is part of every
receipt, so one of a lease that was lost says nothing in a later transaction of the same id.
"""

from __future__ import annotations

import time

from trunkline.errors import LeaseLost, Usage
from trunkline.lake.core import Core
from trunkline.lake.transaction import has_ended
from trunkline.model.ids import id_millis, is_id, new_id
from trunkline.sdk.wire.files import OpenTransaction
from trunkline.storage.catalog import commits, leases

KIND = leases.UPLOAD
# A clock that is a day off is borne, also where the server's and the database's are one.
_CLOCKS_MILLIS = 2 * 86_400_000
# Renewed when so much of it is gone: not by every request.
_FRESH_MICROS = leases.LEASE_MICROS - int(leases.RENEW_SECONDS * 1_000_000)


def begin(core: Core, given: str | None, holder: str) -> OpenTransaction:
    """Open a transaction, or go on with one of the same holder's."""
    txn = given or new_id()
    if not is_id(txn):
        raise Usage("The id of a transaction is 32 hex digits.", hint="Or leave it out.")
    with core.database.write(durable=False) as session:
        found = leases.find(session, txn)
        if found is not None:
            if (found["kind"], found["holder"]) != (KIND, holder):
                raise _gone(txn)
            leases.renew(session, txn)
        else:
            # One of the two clocks may be the one that is wrong.
            clocks = (session.now() // 1000, time.time() * 1000)
            if min(abs(id_millis(txn) - now) for now in clocks) > _CLOCKS_MILLIS:
                raise Usage(
                    "The id of the transaction tells another day.", hint="Set the clock right."
                )
            if commits.in_set(session, txn):
                raise has_ended(txn)
            leases.release(session, txn)
            leases.take(session, txn, KIND, holder)
        row = leases.find(session, txn)
        assert row is not None
        return OpenTransaction(txn, row["expires"])


def hold(core: Core, txn: str, holder: str) -> int:
    """Make sure that a transaction is open and stays so for now; when it was opened."""
    with core.database.read() as session:
        found = leases.find(session, txn)
        now = session.now()
    if found is None or (found["kind"], found["holder"]) != (KIND, holder):
        raise _gone(txn)
    if found["expires"] - now < _FRESH_MICROS:
        with core.database.write(durable=False) as session:
            if not leases.renew(session, txn):
                raise _gone(txn)
    started: int = found["started"]
    return started


def drop(core: Core, txn: str, holder: str) -> bool:
    """End a transaction without a commit; whether there was one of the holder's."""
    with core.database.write(durable=False) as session:
        found = leases.find(session, txn)
        if found is None or (found["kind"], found["holder"]) != (KIND, holder):
            return False
        leases.release(session, txn)
    return True


def _gone(txn: str) -> LeaseLost:
    return LeaseLost(
        f"There is no open transaction {txn[:12]}: it has ended, was paused for too long, "
        "or bytes that it holds were erased.",
        hint="Nothing was changed; run it again.",
    )
