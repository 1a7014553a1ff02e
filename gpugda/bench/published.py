"""Figures that the papers publish for their own systems and machines, to compare with ours."""

from __future__ import annotations

__all__ = ["HARDWARE", "PUBLISHED", "published_seconds"]

HARDWARE = {
    "gsi": "NVIDIA Titan Xp, 12 GB (GSI, tables V and VIII; 12 nodes, vertex-injective)",
    "sgsi": "NVIDIA A100, 80 GB (SGSI, table 5, also for pbe on these graphs; 12 nodes, "
    "vertex-injective)",
    "pbe": "NVIDIA Titan V, 12 GB (PBE, section 6 and table 3; vertex-injective)",
    "stwig": "NVIDIA Tesla C2075, 5 GB (STwig join, section 5; 5 to 10 nodes)",
}

_GSI_VARIANTS = ("basic", "+DS", "+PC", "+SO", "+LB", "+DR")
_GSI_MILLISECONDS = {
    "enron": (573, 274, 176, 28, 28, 28),
    "gowalla": (353, 172, 88, 69, 69, 68),
    "patent": (3_000, 1_400, 700, 524, 466, 465),
    "road": (2_400, 675, 456, 456, 456, 456),
    "watdiv": (43_000, 31_000, 25_000, 4_400, 1_300, 1_000),
    "dbpedia": (85_000, 48_000, 36_000, 6_000, 2_200, 2_000),
}

PUBLISHED: dict[tuple[str, str], str] = {
    (graph, "gsi" if variant == "+DR" else f"gsi {variant}"): f"{milliseconds:,} ms"
    for graph, figures in _GSI_MILLISECONDS.items()
    for variant, milliseconds in zip(_GSI_VARIANTS, figures, strict=True)
}
"""By graph and strategy; figures of the whole graph."""

_SGSI_SECONDS = {"db": (230, 56, 21), "fr": (390, 210, 148), "yh": (2_123, 596, 403)}
_SGSI_SECONDS["wd"] = 954, 282, 117
_SGSI_COLUMNS = ("pbe", "sgsi +LB", "sgsi")
for _graph, _seconds in _SGSI_SECONDS.items():
    for _name, _each in zip(_SGSI_COLUMNS, _seconds, strict=True):
        PUBLISHED[_graph, _name] = f"{_each:,} s"

PUBLISHED["stwig", "stwig"] = "7.8 to 16.7 times its own CPU version"

for _graph in ("youtube", "livejournal"):
    PUBLISHED[_graph, "pbe +sharing"] = "1.4 to 9.2 times as fast as +order, across partitions"
PUBLISHED["friendster", "pbe"] = "q2 1,700 s, q3 1,200 s, q5 5,800 s, q6 1,200 s"

_SECONDS = {
    (graph, "gsi" if variant == "+DR" else f"gsi {variant}"): milliseconds / 1000
    for graph, figures in _GSI_MILLISECONDS.items()
    for variant, milliseconds in zip(_GSI_VARIANTS, figures, strict=True)
}
for _graph, _seconds in _SGSI_SECONDS.items():
    for _name, _each in zip(_SGSI_COLUMNS, _seconds, strict=True):
        _SECONDS[_graph, _name] = float(_each)
_PATTERN_SECONDS = {
    ("friendster", f"q{n}"): s for n, s in ((2, 1.7e3), (3, 1.2e3), (5, 5.8e3), (6, 1.2e3))
}


def published_seconds(graph: str, strategy: str, title: str | None = None) -> float | None:
    """Published seconds per query on a graph of the paper's size; None if there is no figure.

    Args:
        graph: Name of the recipe.
        strategy: Name with its variant; for `extend`, the time of the paper's own system.
        title: Title of a pattern of PBE; None for the mean of all queries.
    """
    if title is not None:
        is_own = strategy in ("extend", "pbe")
        return _PATTERN_SECONDS.get((graph, title.partition(" ")[0])) if is_own else None
    if strategy != "extend":
        return _SECONDS.get((graph, strategy))
    return _SECONDS.get((graph, "gsi"), _SECONDS.get((graph, "sgsi")))
