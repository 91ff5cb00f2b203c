"""Precision-recall and ROC curves of a classifier as drawings that stand by themselves (SVG)."""

from collections.abc import Mapping, Sequence
from typing import Any

import pygal
from pygal.style import Style

Curves = Mapping[str, Mapping[str, Any]]  # by document type, as ``evaluate.curves`` gives them

_STYLE = Style(background="white", colors=("#222222", "#1f77b4", "#2ca02c", "#e0a800", "#d62728", "#9467bd"))


def precision_recall(curves: Curves) -> bytes:
    """Precision over recall of finding bad text, a line a document type."""
    lines = {doc_type: [(point[2], point[1]) for point in curve["points"]] for doc_type, curve in curves.items()}
    return _draw("Finding bad text: precision over recall", "recall", "precision", lines)


def roc(curves: Curves) -> bytes:
    """The share of bad text that is found over the share of good text that goes with it, a line a document type."""
    lines = {doc_type: [(0.0, 0.0), *((point[3], point[2]) for point in curve["points"])] for doc_type, curve in curves.items()}
    return _draw("Finding bad text: share found over good text lost", "good text lost", "bad text found", lines)


def _draw(title: str, x_title: str, y_title: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> bytes:
    chart = pygal.XY(
        width=640,
        height=460,
        explicit_size=True,
        show_dots=False,
        title=title,
        x_title=x_title,
        y_title=y_title,
        range=(0, 1),
        xrange=(0, 1),
        js=[],
        no_prefix=True,
        style=_STYLE,
        stroke_style={"width": 2},
        legend_at_bottom=True,
        disable_xml_declaration=True,
    )
    chart.uuid = "curves"  # else it is drawn by lot
    for name, points in lines.items():
        chart.add(name, list(points))
    chart.add_xml_filter(_bare)
    return str(chart.render(is_unicode=True)).encode()


def _bare(root: Any) -> Any:
    """Without scripts, and without the comments that tell the day of the drawing: the same curves are the same bytes."""
    for parent in list(root.iter()):
        for child in [child for child in parent if not isinstance(child.tag, str) or child.tag == "script"]:
            parent.remove(child)
    return root
