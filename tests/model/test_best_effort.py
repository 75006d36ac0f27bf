"""What nothing depends on may fail; it is said once."""

from __future__ import annotations

import logging

import pytest

from trunkline.model import best_effort
from trunkline.model.best_effort import BestEffort


def test_an_error_ends_it_and_is_logged_once_with_its_traceback(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(best_effort, "_logged", set())
    with caplog.at_level(logging.INFO, "trunkline"):
        for error in (KeyError("a"), KeyError("b"), ValueError("c")):
            with BestEffort("Looking", "info"):
                raise error
        with BestEffort("Asking"):
            raise KeyError
    assert [str(one.exc_info[1]) for one in caplog.records if one.exc_info] == ["'a'", "c"]


def test_what_ends_the_process_goes_on() -> None:
    with pytest.raises(KeyboardInterrupt), BestEffort("Looking"):
        raise KeyboardInterrupt
