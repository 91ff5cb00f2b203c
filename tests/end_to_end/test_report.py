"""The report and the evidence of a real release in a real browser: on a laptop, in a narrow window, and printed."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pypdfium2
import pytest

from tests.end_to_end.conftest import SAMPLES, Reference

pytestmark = [pytest.mark.slow, pytest.mark.smoke]

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
WIDE, NARROW = 1280, 480
PAGES = ("report.html", "evidence/index.html")

# What is measured of each frame: how far it can be scrolled sideways, which labels of charts are cut off, and how much is drawn.
MEASURE = """<!doctype html><meta charset="utf-8"><body>%s<pre id="said"></pre><script>
addEventListener("load", () => {
  const said = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, cut = [];
    for (const label of page.querySelectorAll("svg text")) {
      const at = label.getBoundingClientRect(), box = label.ownerSVGElement.getBoundingClientRect();
      if (at.width && (at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || at.bottom > box.bottom + 1))
        cut.push(label.textContent);
    }
    const bars = [...page.querySelectorAll("svg g.bar rect")].filter(bar => bar.getBoundingClientRect().width > 1).length;
    said.push({name: frame.name, over: page.documentElement.scrollWidth - frame.clientWidth, bars, cut,
               height: page.documentElement.scrollHeight});
  }
  document.getElementById("said").textContent = JSON.stringify(said);
});</script>"""


def browse(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """A headless Chromium with a profile of its own, and with no name that it could resolve."""
    assert CHROMIUM is not None
    options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files")
    offline = ("--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr")
    return subprocess.run(
        [CHROMIUM, *options, *offline, *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=True
    )


@pytest.fixture(scope="module")
def release(reference: Reference) -> Path:
    if CHROMIUM is None:
        pytest.skip("no Chromium on the path (Debian: chromium)")
    releases = reference.site.workspace / "releases"
    return releases / str(json.loads((releases / "latest.json").read_text())["release"])


def test_pages_fit_their_window_and_no_label_is_cut(release: Path, tmp_path: Path) -> None:
    frames = "".join(
        f'<iframe name="{page} {width}" src="{(release / page).as_uri()}" width="{width}" height="900" style="border:0"></iframe>'
        for page in PAGES
        for width in (WIDE, NARROW)
    )
    (tmp_path / "measure.html").write_text(MEASURE % frames, encoding="utf-8")
    dom = browse(tmp_path, "--virtual-time-budget=5000", "--dump-dom", (tmp_path / "measure.html").as_uri()).stdout
    found = re.search(r'<pre id="said">(.+?)</pre>', dom)
    assert found is not None
    said = json.loads(found.group(1))
    assert [frame["name"] for frame in said] == [f"{page} {width}" for page in PAGES for width in (WIDE, NARROW)]
    for frame in said:
        assert frame["over"] <= 0, f"{frame['name']} is {frame['over']} pixels too wide"
        assert frame["cut"] == [], frame["name"]
        assert frame["height"] > 2000
    assert all(frame["bars"] > 40 for frame in said if frame["name"].startswith("report"))


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_picture_of_the_report_is_no_blank_sheet(release: Path, tmp_path: Path, width: int) -> None:
    image = pytest.importorskip("PIL.Image")
    log = browse(tmp_path, f"--window-size={width},4000", "--screenshot=page.png", (release / "report.html").as_uri()).stderr
    assert "CONSOLE" not in log
    assert "ERR_" not in log
    with image.open(tmp_path / "page.png") as picture:
        assert picture.size == (width, 4000)
        for top in range(0, 4000, 1000):
            colours = picture.convert("RGB").crop((0, top, width, top + 1000)).getcolors(maxcolors=1 << 24)
            assert len(colours) > 20, f"nothing is seen from {top} on"


@pytest.mark.parametrize("page", PAGES)
def test_the_print_has_every_section_and_no_name(release: Path, tmp_path: Path, page: str) -> None:
    browse(tmp_path, "--no-pdf-header-footer", "--print-to-pdf=page.pdf", (release / page).as_uri())
    with pypdfium2.PdfDocument(tmp_path / "page.pdf") as document:
        assert 3 <= len(document) <= 14
        text = "".join(sheet.get_textpage().get_text_bounded() for sheet in document)
    printed = re.sub(r"\s", "", text)
    shown = re.findall(r"<h2>(.*?)<small", (release / page).read_text(encoding="utf-8"))
    assert len(shown) > 6
    missing = [title for title in shown if re.sub(r"\s", "", title) not in printed]
    assert missing == []
    planted = {entry["value"] for entry in json.loads((SAMPLES / "truth.json").read_text(encoding="utf-8"))["personal"]}
    assert [value for value in planted if value in printed] == []
