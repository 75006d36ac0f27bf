"""Lists of keys: the rules of S3, written down once more as a model of sorted keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trunkline.lake.changes import build
from trunkline.lake.manifests import EMPTY, Range, Tree, in_memory
from trunkline.model.hidden import HIDDEN_NAMES
from trunkline.server.s3.listing import Listing, Place, Wanted, page

REFS = ["main", "main-2", "main.2", "v1", "ü1"]
OWN = st.text("ab-./ü%", min_size=1, max_size=6).filter(
    lambda text: not text.startswith("/") and not text.endswith("/") and "//" not in text
)
BESIDE = st.sampled_from(["_late/b", "a/_table.json", "_quarantine/a/b", "a/_ingest/a", "b_late/a"])
PART = st.one_of(OWN, OWN, BESIDE)
KEYS = st.sets(st.tuples(st.sampled_from(REFS), PART), max_size=25)


def places(keys: set[tuple[str, str]]) -> list[Place]:
    found: list[Place] = []
    for ref in REFS:
        lines = [f"/{path}\t{'0' * 64}\t1\tdata/x\t-".encode() for r, path in keys if r == ref]
        tree = Tree((), lambda held: [])
        if lines:
            # Lines that no lake would hold together, a file with files below it, are fine here.
            tree = in_memory(_pieces(sorted(lines)), EMPTY)
        found.append((f"{ref}/".encode(), lambda tree=tree: (tree, 0)))  # type: ignore[misc]
    return sorted(found, key=lambda one: one[0])


def _pieces(lines: list[bytes]) -> list[Range | list[bytes]]:
    """Several short ranges, as a long tree would have."""
    return [lines[start : start + 3] for start in range(0, len(lines), 3)]


def model(
    keys: set[tuple[str, str]], prefix: str, delimiter: str, after: str
) -> list[tuple[str, bool]]:
    """What S3 lists: keys, or what they have in common up to a delimiter."""
    shown: dict[bytes, bool] = {}
    whole = {f"{ref}/{path}" for ref, path in keys}
    # Every ref is there, whether or not it holds anything.
    empty = {f"{ref}/" for ref in REFS if delimiter and delimiter in f"{ref}/"[len(prefix) :]}
    for key in whole | empty:
        if not key.startswith(prefix):
            continue
        if {*key.split("/")} & {*HIDDEN_NAMES} - {*prefix.split("/")}:
            continue
        rest = key[len(prefix) :]
        if delimiter and delimiter in rest:
            cut = rest.index(delimiter) + len(delimiter)
            shown[(prefix + rest[:cut]).encode()] = True
        elif key in whole:
            shown[key.encode()] = False
    return [(key.decode(), shown[key]) for key in sorted(shown) if key > after.encode()]


def flat(listing: Listing) -> list[tuple[str, bool]]:
    found = [(one.key, False) for one in listing.objects]
    found += [(one, True) for one in listing.folders]
    return sorted(found, key=lambda one: one[0].encode())


TEXT = st.text("abm-./ünv12i", max_size=6)
PREFIXES = st.sampled_from(["main/a", "main/_late", "main/_l", "v1/_quarantine/", "main/a/_ingest"])


@given(
    KEYS,
    st.one_of(st.just(""), st.sampled_from([f"{ref}/" for ref in REFS]), TEXT, PREFIXES),
    st.sampled_from(["", "/", "-", "a", "/a", "ü", "b/", "n"]),
    st.one_of(
        st.just(""), TEXT, st.builds(lambda ref, part: f"{ref}/{part}", st.sampled_from(REFS), PART)
    ),
    st.integers(1, 7),
)
def test_pages_are_what_s3_would_list(
    keys: set[tuple[str, str]], prefix: str, delimiter: str, after: str, most: int
):
    expected = model(keys, prefix, delimiter, after)
    found: list[tuple[str, bool]] = []
    last: str | None = after
    while last is not None:
        wanted = Wanted(prefix.encode(), delimiter.encode(), last.encode(), most)
        shown = page(places(keys), wanted)
        assert len(flat(shown)) == most or shown.last is None
        found += flat(shown)
        last = shown.last
    assert found == expected


def test_a_page_of_a_large_tree_reads_only_its_part():
    lines = [f"/{n // 1000:03}/{n:06}\t{'0' * 64}\t1\tdata/x\t-".encode() for n in range(40_000)]
    pieces = [piece for piece in build(lines) if isinstance(piece, list)]
    whole = in_memory(pieces, EMPTY)
    read: list[Range] = []

    def load(held: Range) -> list[bytes]:
        read.append(held)
        return whole.lines(held)

    tree = Tree(whole.ranges, load)
    place: list[Place] = [(b"main/", lambda: (tree, 0))]
    shown = page(place, Wanted(b"main/", b"", b"main/020/020500", 1000))
    assert shown.objects[0].key == "main/020/020501"
    assert shown.last == "main/021/021500"
    assert len(read) <= 3 < len(whole.ranges)
    read.clear()
    folders = page(place, Wanted(b"main/", b"/", b"", 1000)).folders
    assert folders == [f"main/{n:03}/" for n in range(40)]
