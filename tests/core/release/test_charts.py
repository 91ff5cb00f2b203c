"""Charts are plain SVG: nothing runs, nothing is fetched, nothing is drawn by lot."""

import xml.etree.ElementTree as ET

import pytest

from lexmill.core.release.charts import bars, columns


@pytest.mark.parametrize("draw", [bars, columns])
def test_the_same_numbers_give_the_same_bytes_and_nothing_else_is_in_them(draw: object) -> None:
    labels, series = ["ingest", "a < b & c", "filter"], {"out": [7, 5, 3], "gone": [0, 2, 2]}
    svg = draw("name", labels, series)  # type: ignore[operator]
    assert svg == draw("name", labels, series)  # type: ignore[operator]
    root = ET.fromstring(svg)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "g", "rect", "text", "path", "line", "title", "tspan"}
    assert "2026" not in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert not any(name.startswith("on") or name == "style" for element in root.iter() for name in element.attrib)
    said = [title.text for shape in root.iter() if shape.tag.endswith("rect") for title in shape]
    assert sorted(map(str, said)) == ["0", "2", "2", "3", "5", "7"]
    assert {"ingest", "a < b & c", "filter"} <= {element.text for element in root.iter()}


def test_no_number_at_all_is_drawn() -> None:
    ET.fromstring(bars("none", ["a"], {"out": [0]}))
    ET.fromstring(columns("none", [], {}))
