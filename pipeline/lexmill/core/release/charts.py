"""Charts as SVG that stands in a page by itself: no script, no font, no colour of its own (the page's style sheet has them).

Their words are ASCII (stages, rules, kinds), for a chart is laid out by the number of its characters; the page says the rest, and
what each colour stands for: series are coloured in their order.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_WIDTH = 760
_ROW = 26  # pixels a horizontal bar


def bars(name: str, labels: Sequence[str], series: Mapping[str, Sequence[float]]) -> str:
    """Horizontal stacked bars, the first label on top: one a label, one colour a series."""
    chart = _library().HorizontalStackedBar(**_config(44 + _ROW * len(labels)))
    return _render(chart, name, list(reversed(labels)), {title: list(reversed(values)) for title, values in series.items()})


def columns(name: str, labels: Sequence[str], series: Mapping[str, Sequence[float]]) -> str:
    """Upright stacked columns, in the order of the labels."""
    chart = _library().StackedBar(**_config(260), x_label_rotation=45 if len(labels) > 12 else 0)
    return _render(chart, name, labels, series)


def _library() -> Any:
    # Whatever imports the release stage need not wait for this: a tenth of a second in every command and worker.
    import pygal

    return pygal


def _config(height: int) -> dict[str, Any]:
    return {
        "width": _WIDTH,
        "height": height,
        "style": _library().style.Style(label_font_size=11),  # by which labels are given room; colours are the page's
        "css": [],
        "js": [],
        "show_legend": False,
        "margin": 6,
        # Labels are wider than pygal takes them for.
        "margin_left": 26,
        "margin_right": 40,
        "margin_bottom": 14,
        "disable_xml_declaration": True,
        "pretty_print": False,
        "truncate_label": 44,
        "value_formatter": lambda value: f"{value:,.0f}",
        "print_zeroes": False,
    }


def _render(chart: Any, name: str, labels: Sequence[str], series: Mapping[str, Sequence[float]]) -> str:
    chart.uuid = name  # else it is drawn by lot
    chart.x_labels = list(labels)
    for title, values in series.items():
        chart.add(title, list(values))
    chart.add_xml_filter(_bare)
    return str(chart.render(is_unicode=True))


def _bare(root: Any) -> Any:
    """Without comments (the day of the drawing), scripts and style; each bar says its value when it is pointed at."""
    for parent in root.iter():
        for child in list(parent):
            is_note = not isinstance(child.tag, str)
            if is_note or child.tag in ("script", "defs") or _is_noise(child):
                parent.remove(child)
    for bar in root.iter("g"):
        if bar.get("class") == "bar":
            value, shape = bar.find("desc"), bar.find("rect")
            if value is not None and shape is not None:
                title = shape.makeelement("title", {})
                title.text = value.text
                shape.append(title)
                bar.remove(value)
    root.find("title").text = root.get("id").removeprefix("chart-")
    root.set("role", "img")
    return root


def _is_noise(element: Any) -> bool:
    kind = element.get("class") or ""
    overlay = kind.startswith("plot") and "overlay" in kind
    return overlay or (element.tag == "desc" and kind != "value")
