"""Object names."""

import pytest

from trunkline.model.ids import new_id
from trunkline.storage.objects.keys import KeyMaker, check_key, extensions, txn_of

TXN = "0199a1b2c3d47000800000000000beef"


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/a/b.csv.gz", ".csv.gz"),
        ("/a.d/b", ""),
        ("/part-0.c000.snappy.parquet", ".snappy.parquet"),
        ("/a.b.c.d", ".c.d"),
        ("/.bashrc", ""),
        ("/.hidden.csv", ".csv"),
        ("/a.c++", ""),
        ("/a..gz", ".gz"),
        ("/a.", ""),
        ("/a.waytoolongforasuffix", ""),
        ("/a.waytoolongforasuffix.gz", ".gz"),
        ("/日本.csv", ".csv"),
        ("/a.日本", ""),
        ("/a b.json", ".json"),
    ],
)
def test_extensions_kept(path: str, kept: str):
    assert extensions(path) == kept


def test_names_carry_day_transaction_and_number():
    keys = KeyMaker(TXN)
    assert keys.data("/x/y.csv.gz") == f"data/20251001/{TXN}-0.csv.gz"
    assert keys.pack() == f"packs/20251001/{TXN}-1.pack"
    assert keys.manifest() == f"manifests/20251001/{TXN}-2.tlm"


def test_no_name_twice():
    keys = KeyMaker(new_id())
    makers = [keys, keys.branch(), keys.branch()]
    makers.append(makers[1].branch())
    names = [maker.pack() for _ in range(40) for maker in makers]
    assert len(set(names)) == len(names)
    assert all(check_key(name) for name in names)


@pytest.mark.parametrize(
    ("key", "txn"),
    [
        (f"data/20251002/{TXN}-0.csv", TXN),
        (f"packs/20251002/{TXN}-3xff.pack", TXN),
        (f"tmp/{TXN}-0.pack.0a1b2c", TXN),
        (f"data/20251002/{TXN[:-1]}-0.csv", None),
        (f"data/20251002/0{TXN}-0.csv", None),
        (f"{TXN}-0/other", None),
        ("probe/x", None),
    ],
)
def test_the_transaction_of_a_key(key: str, txn: str | None):
    assert txn_of(key) == txn
