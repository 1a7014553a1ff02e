"""Figures that the papers publish for their own systems and machines, to compare with ours."""

from __future__ import annotations

from typing import Final

__all__ = ["FINDINGS", "GOALS", "HARDWARE", "PUBLISHED", "paper_of", "published_seconds"]

HARDWARE: Final = {
    "gsi": "NVIDIA Titan Xp, 12 GB (GSI, tables V and VIII; 12 nodes, vertex-injective)",
    "sgsi": "NVIDIA A100, 80 GB (SGSI, table 5, also for pbe on these graphs; 12 nodes, "
    "vertex-injective)",
    "pbe": "NVIDIA Titan V, 12 GB (PBE, section 6 and table 3; vertex-injective)",
    "stwig": "NVIDIA Tesla C2075, 5 GB (STwig join, section 5; 5 to 10 nodes)",
}

GOALS: Final = {"gsi": (10, "a tenth"), "sgsi": (5, "a fifth"), "pbe": (10, "a tenth")}
"""What share of the time of each paper's system `extend` may take at most on its graphs."""

_GSI_VARIANTS = ("basic", "+DS", "+PC", "+SO", "+LB", "+DR")
_GSI_MILLISECONDS = {
    "enron": (573, 274, 176, 28, 28, 28),
    "gowalla": (353, 172, 88, 69, 69, 68),
    "patent": (3_000, 1_400, 700, 524, 466, 465),
    "road": (2_400, 675, 456, 456, 456, 456),
    "watdiv": (43_000, 31_000, 25_000, 4_400, 1_300, 1_000),
    "dbpedia": (85_000, 48_000, 36_000, 6_000, 2_200, 2_000),
}

_GSI: dict[tuple[str, str], int] = {
    (graph, f"gsi {variant}"): milliseconds
    for graph, figures in _GSI_MILLISECONDS.items()
    for variant, milliseconds in zip(_GSI_VARIANTS, figures, strict=True)
}
# `gsi` has all of the paper's techniques, and an order of its own.
_GSI |= {(graph, "gsi"): figures[-1] for graph, figures in _GSI_MILLISECONDS.items()}

PUBLISHED: dict[tuple[str, str], str] = {
    each: f"{milliseconds:,} ms" for each, milliseconds in _GSI.items()
}
"""By graph and strategy; figures of the whole graph. For `extend`, that of the paper's system."""

_SGSI_SECONDS = {"db": (230, 56, 21), "fr": (390, 210, 148), "yh": (2_123, 596, 403)}
_SGSI_SECONDS["wd"] = 954, 282, 117
_SGSI_COLUMNS = ("pbe", "sgsi +LB", "sgsi")
for _graph, _seconds in _SGSI_SECONDS.items():
    for _name, _each in zip(_SGSI_COLUMNS, _seconds, strict=True):
        PUBLISHED[_graph, _name] = f"{_each:,} s"

for _graph, _name in [
    *((graph, "gsi") for graph in _GSI_MILLISECONDS),
    *((graph, "sgsi") for graph in _SGSI_SECONDS),
]:
    PUBLISHED[_graph, "extend"] = f"{PUBLISHED[_graph, _name]} ({_name})"

PUBLISHED["stwig", "stwig"] = "7.8 to 16.7 times its own CPU version"

for _graph in ("youtube", "livejournal"):
    PUBLISHED[_graph, "pbe +sharing"] = "1.4 to 9.2 times as fast as +order, across partitions"
PUBLISHED["friendster", "pbe"] = "q2 1,700 s, q3 1,200 s, q5 5,800 s, q6 1,200 s"

FINDINGS: Final = {
    ("stwig", "nodes"): "STwig join, section 5.2: on the GPU 7.8 to 16.7 times as fast as its own "
    "CPU version, at all four sizes.",
    ("stwig", "labels"): "STwig join, section 5.3: times fall as there are more labels, and so "
    "does the advantage of the GPU (a figure without numbers).",
    ("stwig", "degree"): "STwig join, section 5.4: times rise with the degree, and so does the "
    "advantage of the GPU (a figure without numbers).",
    ("stwig", "query-nodes"): "STwig join, section 5.5: the advantage over its own CPU version "
    "rises from 5 nodes to 9, where it is 15.66 times, and falls at 10.",
    ("watdiv", "relationships"): "GSI, figure 15(a): its time rises slowly from 10 to 210 million "
    "relationships; beyond, the memory of 12 GB does not suffice for most queries. The four other "
    "systems rise sharply and stop earlier.",
    ("gowalla", "labels"): "GSI, figure 16(a): times fall up to 100 labels, then hardly.",
    ("gowalla", "types"): "GSI, figure 16(a): times fall with more types, more slowly from 100 on.",
    ("gowalla", "query-nodes"): "GSI, figure 16(b), with twice as many relationships as nodes: "
    "times rise with the nodes, more slowly from 13 on.",
    ("wd", "relationships"): "SGSI, figure 17: its time rises slowly from 1 to 9 billion "
    "relationships; beyond, 256 GB of host memory do not suffice. PBE gives no result within 24 "
    "hours for most queries from 6 billion on.",
    ("wd", "query-nodes"): "SGSI, figure 17(c): from 4 to 15 nodes its time rises slowly; PBE is "
    "as fast below 7 nodes and far slower above.",
    ("wd", "labels"): "SGSI, figure 17(c): faster with more labels.",
}
"""What the papers' text says about a sweep, by graph and name of the sweep."""

_SECONDS = {each: milliseconds / 1000 for each, milliseconds in _GSI.items()}
for _graph, _seconds in _SGSI_SECONDS.items():
    for _name, _each in zip(_SGSI_COLUMNS, _seconds, strict=True):
        _SECONDS[_graph, _name] = float(_each)
_PATTERN_SECONDS = {
    ("friendster", f"q{n}"): s for n, s in ((2, 1.7e3), (3, 1.2e3), (5, 5.8e3), (6, 1.2e3))
}


def paper_of(graph: str) -> str:
    """Name of the strategy in whose paper a graph is."""
    if graph in _GSI_MILLISECONDS:
        return "gsi"
    if graph in _SGSI_SECONDS:
        return "sgsi"
    return "stwig" if graph == "stwig" else "pbe"


def published_seconds(graph: str, strategy: str, title: str | None = None) -> float | None:
    """Published mean seconds per query on a graph of the paper's size; None if there is no figure.

    Args:
        graph: Name of the recipe.
        strategy: Name with its variant; for `extend`, the time of the paper's own system.
        title: Title of a pattern of PBE; None for the mean of all queries.
    """
    if title is not None:
        is_own = strategy in ("extend", "pbe")
        return _PATTERN_SECONDS.get((graph, title.partition(" ")[0])) if is_own else None
    return _SECONDS.get((graph, paper_of(graph) if strategy == "extend" else strategy))
