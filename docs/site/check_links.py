"""Checks a built site: every link and picture of every page leads to a file of the site, and every anchor exists.

    python docs/site/check_links.py site

Links to other hosts are only listed by number: nothing is fetched.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Links(HTMLParser):
    """Targets and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := given.get(key))}
        self.targets += [value for key in ("href", "src") if (value := given.get(key))]


def read(page: Path) -> Links:
    links = Links()
    links.feed(page.read_text(encoding="utf-8"))
    return links


def broken(site: Path) -> tuple[list[str], int, int]:
    """Lines that name broken links, the number of links within the site, and of links to other hosts."""
    pages = {page.resolve(): read(page) for page in site.rglob("*.html") if page.name != "404.html"}
    lines, inside, outside = [], 0, 0
    for page, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                outside += parts.scheme in ("http", "https")
                continue
            inside += 1
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            file = file / "index.html" if file.is_dir() else file
            anchor = unquote(parts.fragment)
            known = pages[file].anchors if file in pages else {anchor}
            if not file.is_file() or (anchor and anchor not in known):
                lines.append(f"{page.relative_to(site.resolve())}: {target}")
    return lines, inside, outside


def main() -> int:
    lines, inside, outside = broken(Path(sys.argv[1]))
    for line in lines:
        sys.stderr.write(f"broken link: {line}\n")
    sys.stdout.write(
        f"{inside} links within the site, {len(lines)} broken; {outside} links to other hosts not followed\n"
    )
    return int(bool(lines))


if __name__ == "__main__":
    raise SystemExit(main())
