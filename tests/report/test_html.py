"""report.html: one file, nothing outside it, nothing unescaped, and honest about unfinished runs."""

import base64
from html.parser import HTMLParser

import pytest

from grouser.recording import Recording
from grouser.report import write_report
from tests.report.runs import FIGURES, METRICS, finished, start

VOID = {"meta", "img", "br"}
HOSTILE = "<script>alert('&\"')</script>"


class Page(HTMLParser):
    """Tags, attributes and text; fails on tags that do not nest."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    with finished(folder / "recording.h5") as recording:
        path = write_report(recording, folder)
    return path, Page(path.read_text(encoding="utf-8"))


def test_the_page_says_where_the_energy_went(written):
    _, page = written
    assert "Energy given to the soil soil: front left 39.8 J: shear 74 %, sinkage 25 %, unaccounted 1 %" in page.text
    assert "soil: rear right" not in page.text  # it has done no work


def test_everything_is_on_the_page(written):
    path, page = written
    for words in (
        "rover-drive",
        "complete",
        "1 of 3 expectations missed",
        "dry-sand",
        "wheel.radius",
        "0.15",
    ):
        assert words in page.text
    for metric in METRICS:
        assert metric["name"] in page.text
        assert metric["definition"] in page.text
    assert "0.0212 m 0.02 m ± 10 % Ding 2011, table 4 ✓ met" in page.text
    assert "43.1 N 40 ± 2 N closed form ✗ missed" in page.text
    assert "contact of 4 wheels with the ground is taken over by the soil" in page.text
    assert "grouser run rover-drive" in page.text
    for figure in FIGURES:
        assert figure.get("caption", "") in page.text


def test_pictures_are_inside_and_nothing_is_outside(written):
    path, page = written
    pictures = [attributes for tag, attributes in page.tags if tag == "img"]
    assert [picture["alt"] for picture in pictures] == [figure["title"] for figure in FIGURES]
    for picture, figure in zip(pictures, FIGURES, strict=True):
        kind, data = picture["src"].split(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data) == (path.parent / "figures" / f"{figure['name']}.png").read_bytes()
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "iframe", "object")
        assert "href" not in attributes
    text = path.read_text()
    assert "http" not in text.replace("base64", "")
    assert "url(" not in text
    assert "prefers-color-scheme: dark" in text


def test_what_settings_say_is_escaped(tmp_path):
    metric = {"name": HOSTILE, "unit": HOSTILE, "definition": HOSTILE, "expected": HOSTILE, "source": HOSTILE}
    figure = {**FIGURES[0], "title": HOSTILE, "caption": HOSTILE}
    changes = {"scenario": HOSTILE, "settings": {HOSTILE: HOSTILE}, "metrics": [metric], "figures": [figure]}
    writer = start(tmp_path / "recording.h5", 1.0, command=HOSTILE, version=HOSTILE, **changes)
    writer.close("stopped", HOSTILE, {HOSTILE: HOSTILE}, notes=[HOSTILE])
    with Recording(tmp_path / "recording.h5") as recording:
        path = write_report(recording, tmp_path)
    page = Page(path.read_text())
    assert "<script" not in path.read_text()
    assert not [tag for tag, _ in page.tags if tag == "script"]
    assert page.text.count(HOSTILE) >= 10


@pytest.mark.parametrize(
    ("status", "message", "words"),
    [
        ("interrupted", "", "The run was interrupted: the recording ends at t = 0.9 s."),
        (
            "stopped",
            "soil, body 'wheel': diverged",
            "The run stopped at t = 0.9 s. soil, body 'wheel': diverged",
        ),
        (None, "", "The run has not ended: the data shown end at t = 0.9 s."),
    ],
)
def test_unfinished_runs_say_so(tmp_path, status, message, words):
    writer = start(tmp_path / "recording.h5", 1.0)
    if status:
        writer.close(status, message)
    else:
        writer.flush()
    with Recording(tmp_path / "recording.h5") as recording:
        page = Page(write_report(recording, tmp_path).read_text())
    assert words in page.text
    assert "Its metrics were not computed." in page.text
    assert page.text.count("not measured") == 3
    assert "✗ missed" not in page.text
    assert (status or "running") in page.text
    writer.close("complete")


def test_an_empty_recording_has_a_page(tmp_path):
    start(tmp_path / "recording.h5", 0.0, figures=FIGURES[:3]).close("interrupted")
    with Recording(tmp_path / "recording.h5") as recording:
        page = Page(write_report(recording, tmp_path).read_text())
    assert "ends at t = 0 s" in page.text


def test_written_whole_or_not_at_all(tmp_path, monkeypatch):
    with finished(tmp_path / "recording.h5", duration=1.0, figures=[]) as recording:
        write_report(recording, tmp_path)
        before = (tmp_path / "report.html").read_text()

        def broken(*_):
            raise OSError("disk")

        monkeypatch.setattr("pathlib.Path.replace", broken)
        with pytest.raises(OSError, match="disk"):
            write_report(recording, tmp_path)
    assert (tmp_path / "report.html").read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures", "recording.h5", "report.html"]
