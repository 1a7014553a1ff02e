"""Generates the graph of a domain, and reads its queries.

A node's properties are drawn as the file says: a text with the node's number among those of its
label, a share of true values, a range of numbers, or a list whose first values are the commonest.
Relationships are drawn evenly (1.0), more often at nodes of low numbers (above), or as a hierarchy.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.api import graph
from gpugda.bench.query_file import cases_of_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from gpugda.bench.cases import Case
    from gpugda.ports import GraphSource

__all__ = ["DOMAINS", "domain_cases", "domain_graph"]

_FOLDER: Final = Path(__file__).parent
DOMAINS: Final = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))
_NO_PROPERTIES: Final = ("count", "fixed", "labels")
_UNEVEN: Final = 2.0
"""How much more often the first of a list of values is drawn."""
_NAME: Final = re.compile(r"\s*//\s*(.+)\n")


def domain_graph(name: str, scale: float = 1.0, seed: int = 1) -> GraphSource:
    """The graph of a domain: about 20 thousand relationships at scale 1.

    Nodes of one label have consecutive ids; equal arguments give the same graph.
    """
    content = _content(name)
    random = np.random.default_rng([seed, *name.encode()])
    nodes, places, first = [], dict[str, tuple[int, int]](), 0
    for label, given in content["nodes"].items():
        size = given.get("fixed") or max(2, round(given["count"] * scale))
        places[label], first = (first, size), first + size
        columns = {key: it for key, it in given.items() if key not in _NO_PROPERTIES}
        ids = np.arange(first - size, first)
        labels = [[label, *given.get("labels", ())]] * size
        nodes.append({"id": ids, "labels": labels, **_columns(random, columns, size)})
    drawn = defaultdict[str, list["NDArray[np.int64]"]](list)
    for kind, start, end, count, how in content["relationships"]["draw"]:
        sizes = places[start][1], places[end][1]
        ends = _ends(random, count, how, sizes, scale)
        offsets = [[places[start][0]], [places[end][0]]]
        drawn[kind].append(ends + offsets)
    return graph(
        nodes,
        {
            kind: _relationships(random, np.concatenate(parts, axis=1), properties.get(kind, {}))
            for properties in [content.get("properties", {})]
            for kind, parts in drawn.items()
        },
    )


def domain_cases(name: str) -> list[Case]:
    """The queries of a domain, named by the comments above them; the rows of all are determined."""
    text = (_FOLDER / f"{name}.cypher").read_text(encoding="utf-8")
    cases = []
    for case in cases_of_text(text, _content(name)["parameters"]):
        title = _NAME.match(case.text(""))
        assert title is not None  # the files are ours
        cases.append(replace(case, name=title[1], row_limit=None))
    return cases


def _content(name: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def _columns(random: np.random.Generator, columns: Mapping[str, Any], size: int) -> dict[str, Any]:
    return {key: _column(random, given, size) for key, given in columns.items()}


def _column(random: np.random.Generator, given: Any, size: int) -> Any:
    match given:
        case str():
            return [given.format(*[number] * given.count("{")) for number in range(size)]
        case float():
            return random.random(size) < given
        case [int(), int()]:
            return random.integers(given[0], given[1], size)
        case [float(), float()]:
            return np.round(random.uniform(given[0], given[1], size), 3)
        case _:
            return [given[place] for place in _uneven(random, len(given), size, _UNEVEN)]


def _uneven(random: np.random.Generator, size: int, count: int, how: float) -> NDArray[np.int64]:
    """Draws numbers below ``size``, low ones more often if ``how`` is above 1."""
    return (random.random(count) ** how * size).astype(np.int64)


def _ends(
    random: np.random.Generator,
    count: int | str,
    how: float | str,
    sizes: tuple[int, int],
    scale: float,
) -> NDArray[np.int64]:
    """Numbers of start and end nodes, as two rows."""
    if how == "tree":
        below = np.arange(1, sizes[0])
        found = np.array([below, (random.random(len(below)) * below).astype(np.int64)])
    elif how == "acyclic":
        pairs = np.sort(
            _uneven(random, min(sizes), 2 * round(float(count) * scale), 1.0).reshape(2, -1), 0
        )
        found = pairs[::-1, pairs[0] < pairs[1]]
    elif isinstance(count, str):
        one, many = sizes if count == "each" else sizes[::-1]
        found = np.array([np.arange(one), _uneven(random, many, one, float(how))])
    else:
        number = round(count * scale)
        found = np.array([_uneven(random, size, number, float(how)) for size in sizes])
    return np.unique(found[::-1] if count == "each end" else found, axis=1)


def _relationships(
    random: np.random.Generator, ends: NDArray[np.int64], columns: Mapping[str, Any]
) -> dict[str, Any]:
    return {"source": ends[0], "target": ends[1], **_columns(random, columns, ends.shape[1])}
