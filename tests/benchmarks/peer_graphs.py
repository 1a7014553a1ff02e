"""The graphs for gpugda and its peers, as plain columns that every engine can load."""

from __future__ import annotations

import lzma
import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.test_strategies import rmat_ends, snap_ends, undirected_ends

import gpugda

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(os.environ.get("GPUGDA_SHARED", Path(__file__).parents[3] / "shared")) / "data"
SNAP = {
    # name: file, and True if its first line contains the graph's size
    "wiki-Vote": ("wiki-Vote.csv.xz", False),
    "email-Enron": ("email-Enron.txt.xz", True),
    "slashdot0902": ("soc-slashdot0902-directed.csv.xz", True),
    "ego-twitter": ("ego-twitter-undirected.csv.xz", True),
}
KNOWLEDGE = ("umls", "kinships", "nations")


@dataclass(frozen=True, eq=False)
class PeerGraph:
    """Nodes are 0…n-1, relationships 0…m-1.

    Args:
        label_sets: Label sets; the last label of a set is unique and names the peers' node table.
        label_set_of: Per node, an index into ``label_sets``.
        types: Names of relationship types.
        type_of: Per relationship, an index into ``types``.
        source: Per relationship, its source node.
        target: Per relationship, its target node.
        node_columns: Properties by name; None for a node without the property.
        relationship_columns: Properties of relationships, likewise.
    """

    label_sets: list[tuple[str, ...]]
    label_set_of: np.ndarray
    types: list[str]
    type_of: np.ndarray
    source: np.ndarray
    target: np.ndarray
    node_columns: dict[str, np.ndarray] = field(default_factory=dict)
    relationship_columns: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def types_with_loops(self) -> set[str]:
        loops = self.type_of[self.source == self.target]
        return {self.types[each] for each in np.unique(loops)}


def plain(source: np.ndarray, target: np.ndarray, nodes: int) -> PeerGraph:
    """A graph with one label and one type; random ranks and weights of 0…99, the same in each run."""
    random = np.random.default_rng(1)
    return PeerGraph(
        [("Node",)],
        np.zeros(nodes, np.int64),
        ["R"],
        np.zeros(len(source), np.int64),
        source,
        target,
        {"rank": random.integers(0, 100, nodes)},
        {"weight": random.integers(0, 100, len(source))},
    )


def labelled(source: np.ndarray, target: np.ndarray, nodes: int) -> PeerGraph:
    """As `plain`, with one of four labels and one of two types, drawn with a fixed seed."""
    graph, random = plain(source, target, nodes), np.random.default_rng(2)
    return PeerGraph(
        [(f"L{each}",) for each in range(4)],
        random.integers(0, 4, len(graph.label_set_of)),
        ["R", "S"],
        random.integers(0, 2, len(graph.source)),
        graph.source,
        graph.target,
        graph.node_columns,
        graph.relationship_columns,
    )


def knowledge(name: str) -> PeerGraph | None:
    path = DATA / "knowledge-graphs" / f"{name}.tsv.xz"
    if not path.exists():
        return None
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        triples = np.array([line.rstrip("\n").split("\t") for line in lines])
    names, source, target = _dense(triples[:, [0, 2]])
    types, type_of = np.unique(triples[:, 1], return_inverse=True)
    return PeerGraph(
        [("Entity",)],
        np.zeros(len(names), np.int64),
        types.tolist(),
        type_of,
        source,
        target,
        {"name": names.astype(object)},
    )


def wordnet() -> PeerGraph:
    """The sample without the labels of lexicographers' files: 45 tables would only slow peers down."""
    with gpugda.connect("sample:wordnet") as accelerator:
        nodes = accelerator.run("MATCH (n) RETURN id(n), labels(n), n.name").values()
        relationships = accelerator.run(
            "MATCH (a)-[r]->(b) RETURN id(a), id(b), type(r), r.sense"
        ).values()
    place = {node: index for index, (node, _, _) in enumerate(nodes)}
    label_sets = [("Word",)]
    label_sets += [("Synset", each) for each in ("Noun", "Verb", "Adjective", "Adverb")]
    found = [
        next(at for at, labels in enumerate(label_sets) if labels[-1] in own) for _, own, _ in nodes
    ]
    source, target, types, senses = zip(*relationships, strict=True)
    names, type_of = np.unique(np.array(types), return_inverse=True)
    return PeerGraph(
        label_sets,
        np.array(found),
        names.tolist(),
        type_of,
        np.array([place[each] for each in source]),
        np.array([place[each] for each in target]),
        {"name": np.array([name for _, _, name in nodes], dtype=object)},
        {"sense": np.array(senses, dtype=object)},
    )


def _dense(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    names, places = np.unique(ends, return_inverse=True)
    places = places.reshape(ends.shape)
    return names, places[:, 0].copy(), places[:, 1].copy()


def _snap(file: str, headed: bool, made: Callable[..., PeerGraph]) -> PeerGraph | None:
    ends = snap_ends(file)
    if ends is None:
        return None
    names, source, target = _dense(ends[1:] if headed else ends)
    return made(source, target, len(names))


def _rmat(made: Callable[..., PeerGraph]) -> PeerGraph:
    return made(*rmat_ends(16), 1 << 16)


def _graphs() -> dict[str, tuple[str, Callable[[], PeerGraph | None]]]:
    found: dict[str, tuple[str, Callable[[], PeerGraph | None]]] = {}
    for kind, made in (("plain", plain), ("labelled", labelled)):
        suffix = "" if kind == "plain" else " labelled"
        for name, (file, headed) in SNAP.items():
            found[name + suffix] = kind, partial(_snap, file, headed, made)
        found["R-MAT 16" + suffix] = kind, partial(_rmat, made)
    for name in ("wiki-Vote", "email-Enron"):
        found[f"{name} undirected"] = "undirected", found[name][1]
    found["R-MAT 16 undirected"] = "undirected", lambda: plain(*undirected_ends(16), 1 << 16)
    found["WordNet"] = "wordnet", wordnet
    for name in KNOWLEDGE:
        found[name] = name, partial(knowledge, name)
    return found


GRAPHS = _graphs()
"""By name: the kind of its queries, and the function that makes it; None if its file is absent."""
