"""What the tools share that generate a part of a page: the graph that they ask, and the writing."""

import re
from collections.abc import Iterable
from pathlib import Path

import gpugda

DOCS = Path(__file__).resolve().parents[1] / "docs"
_GENERATED = re.compile(r"(?<=<!-- table -->\n\n).*?(?=\n\n<!-- end of the table -->)", re.DOTALL)


def graph() -> gpugda.Accelerator:
    """A small embedded graph."""
    nodes = {"id": [1, 2, 3], "labels": ["P", "P", "Q"], "n": [1, 2, 3], "s": ["x", "xy", "z"]}
    relationships = {"source": [1, 2, 1], "target": [2, 3, 3], "type": ["R", "R", "S"]}
    return gpugda.connect(gpugda.graph(nodes=nodes, relationships=relationships))


def fill(name: str, lines: Iterable[str]) -> None:
    """Replaces the generated part of a page."""
    page, filled = DOCS / name, "\n".join(lines)
    text = page.read_text(encoding="utf-8")
    page.write_text(_GENERATED.sub(lambda _: filled, text), encoding="utf-8")
