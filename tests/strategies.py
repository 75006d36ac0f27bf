"""Hypothesis strategies for what users can name."""

from __future__ import annotations

import string
import unicodedata

from hypothesis import strategies as st

from trunkline.model.commits import RepoName
from trunkline.model.refs import Ref

_NAME_START = string.ascii_letters + string.digits

names = st.builds(
    str.__add__,
    st.sampled_from(_NAME_START),
    st.text(_NAME_START + "._-", max_size=62),
)

_path_characters = st.characters(
    codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="/\\"
)

path_parts = (
    st.text(_path_characters, min_size=1, max_size=12)
    .map(lambda part: unicodedata.normalize("NFC", part))
    .filter(lambda part: part not in (".", ".."))
)

paths = (
    st.lists(path_parts, min_size=1, max_size=5)
    .map(lambda parts: "/" + "/".join(parts))
    .map(lambda path: unicodedata.normalize("NFC", path))
)

paths_or_root = st.just("/") | paths

ids = st.text("0123456789abcdef", min_size=8, max_size=32)

steps = st.lists(
    st.sampled_from(["^", "~"])
    | st.builds("{}{}".format, st.sampled_from("^~"), st.integers(0, 99_999))
    | st.builds(".{}".format, st.integers(1, 99_999)),
    max_size=4,
).map("".join)

revisions = st.builds(str.__add__, names | ids, steps)

repo_names = st.builds(RepoName, st.just("default") | names, names)

refs = st.builds(Ref, repo_names, revisions, st.none() | paths_or_root)
