"""The documentation site is built without a warning, its links lead somewhere, and its notebooks run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
TIMEOUT = 300  # [s] for one cell, which may have to compile kernels


def check_links(site: Path) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, str(ROOT / "docs" / "site" / "check_links.py"), str(site)]
    return subprocess.run(call, capture_output=True, text=True)


@pytest.mark.long
def test_the_site_is_built_without_a_warning_and_has_no_broken_link(tmp_path):
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(
        build, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    checked = check_links(tmp_path / "site")
    assert checked.returncode == 0, checked.stderr
    page = (tmp_path / "site" / "api.html").read_text(encoding="utf-8")
    assert "Run a sweep, as the command does" in page, "docstrings are there"
    assert "Bekker" in (tmp_path / "site" / "search" / "search_index.json").read_text(encoding="utf-8")
    loaded = re.findall(r'<(?:script|link)[^>]*(?:src|href)="(https?://[^"]+)"', page)
    assert loaded == [], "a page loads nothing from elsewhere"


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#there">x</a> <a href="https://elsewhere.org">y</a>')
    (tmp_path / "b.html").write_text('<h1 id="there">x</h1> <img src="none.png"> <a href="a.html#gone">z</a>')
    checked = check_links(tmp_path)
    assert checked.returncode == 1
    assert sorted(checked.stderr.splitlines()) == ["broken link: b.html: a.html#gone", "broken link: b.html: none.png"]
    assert checked.stdout == "3 links within the site, 2 broken; 1 links to other hosts not followed\n"


def test_every_page_and_notebook_is_in_the_contents():
    contents = str(YAML(typ="rt").load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    docs = ROOT / "docs"
    pages = [str(file.relative_to(docs)) for suffix in ("md", "ipynb") for file in docs.rglob(f"*.{suffix}")]
    assert [page for page in pages if f"'{page}'" not in contents] == []


@pytest.mark.long
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(notebook, tmp_path):
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(notebook, as_version=4)
    NotebookClient(
        book, timeout=TIMEOUT, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_stored_with_its_results_and_without_an_error(notebook):
    import nbformat

    book = nbformat.read(notebook, as_version=4)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    kinds = [output.output_type for cell in cells for output in cell.outputs]
    assert "error" not in kinds
    assert "display_data" in kinds, "a figure"
    assert notebook.stat().st_size < 200_000
    assert not re.search("/(home|root|work)/", notebook.read_text(encoding="utf-8"))
