"""What a generator of an ingest yields to say where it has come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Offered:
    """Rows, and the position behind them: any JSON. It is committed with them.

    When the generator is called again, it is called with the position that was committed last.
    """

    rows: Any
    position: Any
