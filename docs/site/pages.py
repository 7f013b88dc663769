"""Hook of the documentation site: its first page is the README, and links to files outside docs/ lead to copies.

The Markdown files link to each other as files of the repository. On the site README.md is index.html, CONTRIBUTING.md
and CHANGELOG.md are pages of their own, and a link to source code shows the code.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
PAGES["SECURITY.md"] = "security.md"
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)\s#]+)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the root folder, and as texts the files outside docs/ to which a page links."""
    for name, page in PAGES.items():
        text = _links((ROOT / name).read_text(encoding="utf-8"), ROOT, "")
        files.append(File.generated(config, page, content=text))
    linked = {target for page in (ROOT / "docs").rglob("*.md") for target in _outside(page)}
    linked |= {target for name in PAGES for target in _outside(ROOT / name)}
    for target in sorted(linked):
        files.append(File.generated(config, f"source/{target}.txt", abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links that leave docs/ to the pages and texts that `on_files` added."""
    here = page.file.src_uri
    if here in PAGES.values():
        return markdown
    folder = (ROOT / "docs" / here).parent
    return _links(markdown, folder, "../" * here.count("/"))


def _outside(page: Path) -> list[str]:
    """Files outside docs/, and no pages, to which a page links, from the root."""
    found = []
    for _, target in LINK.findall(page.read_text(encoding="utf-8")):
        place = _place(page.parent, target)
        if place is not None and place not in PAGES and (ROOT / place).is_file():
            found.append(place)
    return found


def _place(folder: Path, target: str) -> str | None:
    """Path from the root of a link's target. None if it is in docs/ or not in the repository."""
    file = (folder / target).resolve()
    if not file.is_relative_to(ROOT) or file.is_relative_to(ROOT / "docs"):
        return None
    return str(file.relative_to(ROOT))


def _links(text: str, folder: Path, up: str) -> str:
    def turned(match: re.Match[str]) -> str:
        begin, target = match[1], match[2]
        file = (folder / target).resolve()
        place = _place(folder, target)
        if place in PAGES:
            return f"{begin}{up}{PAGES[place]}"
        if place is not None and (ROOT / place).is_file():
            return f"{begin}{up}source/{place}.txt"
        if folder == ROOT and file.is_relative_to(ROOT / "docs"):
            return f"{begin}{file.relative_to(ROOT / 'docs')}"
        return match[0]

    return LINK.sub(turned, text)
