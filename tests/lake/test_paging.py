"""Lists that go on after an item: page by page they are the whole list."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lake.conftest import Trees, models, paths
from trunkline.lake import files
from trunkline.lake.differences import differences

Model = dict[str, int]
thorough = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.slow
@thorough
@given(model=models())
def test_what_follows_each_item_is_the_rest(model: Model):
    tree = Trees().of(model)
    for ask in (
        lambda after: files.children(tree, "/", "x", after=after),
        lambda after: files.everything(tree, "/", "x", after),
        lambda after: files.matching(tree, "/**", after),
        lambda after: files.matching(tree, "/*", after),
        lambda after: files.matching(tree, "/*/*", after),
    ):
        whole = list(ask(None))
        for place, item in enumerate(whole):
            assert list(ask(item.path)) == whole[place + 1 :]


@thorough
@given(model=models(), folder=st.just("/") | paths)
def test_what_follows_in_a_folder_stays_in_it(model: Model, folder: str):
    tree = Trees().of(model)
    if folder != "/" and not tree.has_below(folder.encode()):
        return
    for ask in (files.children, files.everything):
        whole = list(ask(tree, folder, "x"))
        for place, item in enumerate(whole):
            assert list(ask(tree, folder, "x", after=item.path)) == whole[place + 1 :]


@thorough
@given(old=models(), new=models())
def test_differences_go_on_after_a_path(old: Model, new: Model):
    trees = Trees()
    before, after = trees.of(old), trees.of(new)
    whole = list(differences(before, after))
    for place, item in enumerate(whole):
        past = item.path + b"\t\xff"
        assert list(differences(before, after, start_at=past)) == whole[place + 1 :]
