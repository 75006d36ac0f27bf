"""What was asked for lately, and no more of it than fits."""

from __future__ import annotations

from trunkline.model.recent import Recent


def test_it_forgets_what_was_not_asked_for_lately() -> None:
    kept: Recent[int, str] = Recent(2)
    kept.put(1, "a")
    kept.put(2, "b")
    assert kept.find(1) == kept.get(1, lambda: "other") == "a"
    kept.put(3, "c")
    assert (kept.find(1), kept.find(2), kept.pop(3), kept.pop(3)) == ("a", None, "c", None)
    assert len(kept) == 1


def test_it_forgets_what_is_too_heavy() -> None:
    kept: Recent[int, int] = Recent(2, 100, lambda value: value)
    for key in (1, 2, 3):
        assert kept.get(key, lambda: 10) == 10
    assert len(kept) == 2
    assert kept.get(3, lambda: 11) == 10
    assert kept.get(4, lambda: 95) == 95
    assert len(kept) == 1
    assert kept.get(5, lambda: 1000) == 1000
    assert len(kept) == 0


def test_what_is_put_again_weighs_once() -> None:
    kept: Recent[str, int] = Recent(9, 100, lambda value: value)
    for weight in (60, 90, 40):
        kept.put("a", weight)
    kept.put("b", 60)
    assert (kept.find("a"), kept.find("b")) == (40, 60)
    assert kept.pop("a") == 40
    assert kept.get("c", lambda: 40) == 40
    assert len(kept) == 2
