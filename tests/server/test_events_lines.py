"""Events whose text has ends of lines that are none of a stream's."""

from itertools import islice
from pathlib import Path

import trunkline as tl
from tests.served import served
from trunkline.model.commits import RepoName
from trunkline.sdk.remote.lake import connect
from trunkline.storage.catalog import events

ODD = "/a\u2028b\u0085c\x1cd"


def test_odd_ends_of_lines_are_text(tmp_path: Path):
    with tl.init(tmp_path) as lake, served(lake) as url:
        with lake._core.database.write() as session:
            for n in range(2):
                events.emit(session, "erase", RepoName("default", "orders"), {"path": ODD, "n": n})
        with connect(url, "", lake._settings) as remote:
            told = list(islice(remote.events(since=0, kinds=["erase"], follow=True), 2))
    assert [one.facts for one in told] == [{"path": ODD, "n": 0}, {"path": ODD, "n": 1}]
