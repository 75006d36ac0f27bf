"""What the site needs beyond MkDocs: anchors as on the code host, and pages from outside docs/.

Pages link to files of the repository, and are read there too. On the site, a link to a README of
an example leads to its page; one to any other file is shown as its path.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "readme.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/README.md": "examples/README.md",
    **{
        f"examples/{folder.name}/README.md": f"examples/{folder.name}.md"
        for folder in sorted((ROOT / "examples").iterdir())
        if (folder / "README.md").is_file()
    },
}
"""Pages that are kept elsewhere in the repository, and where they are on the site."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
_FENCE = re.compile(
    r"^(?P<open>(?P<fence>`{3,}|~{3,})\w*)[^\n]*(?P<rest>\n.*?^(?P=fence)[ \t]*$)",
    re.MULTILINE | re.DOTALL,
)
_PICTURES = (".svg", ".png", ".jpg", ".gif", ".webp")


def slug(text: str, separator: str) -> str:
    """The anchor of a heading, as where the repository is read."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)


def on_files(files: Files, config: Any) -> Files:
    for source, page in OUTSIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
        folder = (ROOT / source).parent
        if source.startswith("examples/"):
            for picture in sorted(folder.glob("*")):
                if picture.suffix in _PICTURES:
                    place = f"examples/{folder.name}/{picture.name}"
                    files.append(File.generated(config, place, abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links as they are in the repository become links of the site."""
    there = {page: source for source, page in OUTSIDE.items()}
    source = there.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def link(found: re.Match[str]) -> str:
        mark, text, path, anchor = found[1], found[2], found[3], found[4] or ""
        if not path or re.match(r"[a-z]+:", path):
            return found[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        new = _on_site(target)
        if new is None:
            return text if mark == "" else ""
        if text.endswith(".md"):
            text = _title(ROOT / target) or text
        base = posixpath.dirname(page.file.src_uri) or "."
        return f"{mark}[{text}]({posixpath.relpath(new, base)}{anchor})"

    parts, start = [], 0
    for fence in _FENCE.finditer(markdown):
        # What follows the language ("python run") is for the tests.
        parts += [_LINK.sub(link, markdown[start : fence.start()]), fence["open"], fence["rest"]]
        start = fence.end()
    return "".join([*parts, _LINK.sub(link, markdown[start:])])


def _title(source: Path) -> str:
    """What a page is called, where the link to it only has the name of its file."""
    text = source.read_text(encoding="utf-8") if source.is_file() else ""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def _on_site(target: str) -> str | None:
    """Where a file of the repository is on the site, if it is there."""
    if target in OUTSIDE:
        return OUTSIDE[target]
    if f"{target}/README.md" in OUTSIDE:
        return OUTSIDE[f"{target}/README.md"]
    if target.startswith("docs/"):
        inside = target.removeprefix("docs/")
        return f"{inside}/README.md" if (ROOT / target).is_dir() else inside
    if target.startswith("examples/") and target.endswith(_PICTURES):
        return target
    return None
