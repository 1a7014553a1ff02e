"""A generated directory of users, computers and groups, as security teams keep it as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

import gpugda

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.ports import GraphSource

__all__ = ["directory_graph", "social_graph"]

_SIZES: Final = {"User": 2_600, "Computer": 1_500, "Group": 500, "OU": 80, "GPO": 16, "Domain": 4}
_KINDS: Final = (
    ("MemberOf", "User", "Group", 8_400, 2.0),
    ("MemberOf", "Computer", "Group", 1_900, 2.0),
    ("AdminTo", "Group", "Computer", 1_900, 1.5),
    ("HasSession", "Computer", "User", 2_600, 1.5),
    ("CanRDP", "User", "Computer", 900, 1.2),
    ("GenericAll", "Group", "User", 700, 1.5),
    ("Owns", "User", "Computer", 300, 1.0),
    ("GPLink", "GPO", "OU", 60, 1.0),
    ("TrustedBy", "Domain", "Domain", 8, 1.0),
)
"""Type, labels of both ends, relationships drawn, and how unevenly ends are drawn: 1 is evenly."""
_NESTED_GROUPS: Final = 690


def directory_graph(seed: int = 1) -> GraphSource:
    """About 4,700 nodes and 21,000 relationships of ten types; groups nest without cycles."""
    random = np.random.default_rng(seed)
    firsts, labels, first = dict[str, int](), list[list[str]](), 0
    for label, size in _SIZES.items():
        firsts[label], first = first, first + size
        labels += [["Base", label]] * size
    parts: list[tuple[str, NDArray[np.int64]]] = []
    for kind, start, end, count, uneven in _KINDS:
        ends = [
            firsts[label] + (random.random(count) ** uneven * _SIZES[label]).astype(np.int64)
            for label in (start, end)
        ]
        parts.append((kind, np.array(ends)))
    nested = np.sort((random.random((2, _NESTED_GROUPS)) * _SIZES["Group"]).astype(np.int64), 0)
    parts.append(("MemberOf", firsts["Group"] + nested[::-1, nested[0] < nested[1]]))
    held = np.arange(_SIZES["User"] + _SIZES["Computer"])
    units = (random.random(len(held)) ** 2 * _SIZES["OU"]).astype(np.int64)
    parts.append(("Contains", np.array([firsts["OU"] + units, held])))
    below = np.arange(1, _SIZES["OU"])
    above = (random.random(len(below)) * below).astype(np.int64)
    parts.append(("Contains", firsts["OU"] + np.array([above, below])))
    parts = [(kind, np.unique(ends, axis=1)) for kind, ends in parts]
    count = len(labels)
    nodes = {
        "id": np.arange(count),
        "labels": labels,
        "name": [f"{label[1].upper()}-{i}" for i, label in enumerate(labels)],
        "enabled": random.random(count) < 0.9,
        "spn": random.random(count) < 0.05,
        "level": (random.random(count) ** 3 * 10).astype(np.int64),
    }
    return gpugda.graph(nodes, _relationships(parts))


def social_graph(seed: int = 1) -> GraphSource:
    """About 6,000 nodes and 40,000 relationships: people who know, follow, live and write."""
    random = np.random.default_rng(seed)
    sizes = {"Person": 2_000, "Post": 4_000, "City": 50, "Tag": 100}
    firsts = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    kinds = (
        ("KNOWS", "Person", "Person", 12_000, 1.8),
        ("LIVES_IN", "Person", "City", 2_000, 2.0),
        ("WROTE", "Person", "Post", 4_000, 1.5),
        ("LIKES", "Person", "Post", 14_000, 1.7),
        ("HAS_TAG", "Post", "Tag", 8_000, 2.0),
    )
    parts = []
    for kind, start, end, count, uneven in kinds:
        starts = firsts[start] + random.integers(0, sizes[start], count)
        ends = firsts[end] + (random.random(count) ** uneven * sizes[end]).astype(np.int64)
        parts.append((kind, np.unique(np.array([starts, ends]), axis=1)))
    labels = [label for label, size in sizes.items() for _ in range(size)]
    nodes = {
        "id": np.arange(len(labels)),
        "labels": labels,
        "name": [f"{label.lower()} {i}" for i, label in enumerate(labels)],
        "age": random.integers(15, 90, len(labels)),
    }
    return gpugda.graph(nodes, _relationships(parts))


def _relationships(parts: list[tuple[str, NDArray[np.int64]]]) -> dict[str, object]:
    ends = np.concatenate([pairs for _, pairs in parts], axis=1)
    kinds = [kind for kind, pairs in parts for _ in range(pairs.shape[1])]
    return {"source": ends[0], "target": ends[1], "type": kinds}
