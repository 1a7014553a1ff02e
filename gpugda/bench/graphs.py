"""The graphs of the experiments, and those with application queries, by name."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpugda.bench.ratings import rating_graph
from gpugda.errors import ConfigurationError, SourceError
from gpugda.ports import GraphBatches, SnapshotFolder
from gpugda.sources import resolve_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpugda.data.batches import NodeBatch
    from gpugda.ports import GraphSource, Progress

__all__ = ["GRAPHS", "WithoutLabels", "graph_source", "graphs_folder"]


class WithoutLabels:
    """A source that removes the labels of all nodes.

    Args:
        source: The source.
    """

    def __init__(self, source: GraphSource) -> None:
        self._source = source
        self.name = source.name

    @contextmanager
    def read(self, progress: Progress) -> Iterator[GraphBatches | SnapshotFolder]:
        """Reads the same graph with empty label sets."""
        with self._source.read(progress) as content:
            if isinstance(content, SnapshotFolder):
                raise SourceError(f"{self.name}: labels cannot be taken from a saved snapshot.")
            yield replace(content, nodes=map(_bare, content.nodes))


def _bare(batch: NodeBatch) -> NodeBatch:
    return replace(batch, label_sets=tuple(() for _ in batch.label_sets))


def _drwho(path: Path) -> GraphSource:
    return WithoutLabels(resolve_source(path))


def _yeast(path: Path) -> GraphSource:
    return resolve_source(f"pajek:{path}")


def _recommendations(path: Path) -> GraphSource:
    return rating_graph(path, path.with_name("ratings.csv.xz"))


GRAPHS: dict[str, tuple[str, Callable[[Path], GraphSource]]] = {
    "drwho": ("drwho/drwho.graphml.xz", _drwho),
    "yeast": ("yeast-ppi/Yeast.zip", _yeast),
    "pole": ("pole/pole-data-importer.zip", resolve_source),
    "drwho-labelled": ("drwho/drwho.graphml.xz", resolve_source),
    "recommendations": ("recommendations/movies.csv.xz", _recommendations),
}
"""By name: the file in the folder of graphs, and the function that opens it."""


def graphs_folder(given: str | None) -> Path | None:
    """The folder of graphs: the given one, else ``data`` in the folder of ``GPUGDA_SHARED``."""
    if given is not None:
        return Path(given)
    shared = os.environ.get("GPUGDA_SHARED")
    return Path(shared) / "data" if shared else None


def graph_source(name: str, folder: Path | None) -> GraphSource:
    """One of the graphs of the experiments, or a sample that comes with the package.

    Raises:
        ConfigurationError: There is no graph of that name, or no folder was given.
        SourceError: The graph's file does not exist.
    """
    if name.startswith("sample:"):
        return resolve_source(name)
    if name not in GRAPHS:
        known = ", ".join([*GRAPHS, "sample:wordnet"])
        raise ConfigurationError(f"There is no graph {name!r} to compare on; there are: {known}.")
    file, read = GRAPHS[name]
    if folder is None:
        raise ConfigurationError(
            f"The graph {name!r} does not come with gpugda: name the folder that holds {file} with "
            "--graphs FOLDER, or use sample:wordnet."
        )
    path = next((each for each in (folder / file, folder / Path(file).name) if each.exists()), None)
    if path is None:
        raise SourceError(
            f"The graph {name!r} is not in the folder of --graphs: it should hold {file}. The "
            "graph does not come with gpugda; docs/benchmark.md says where it is from."
        )
    return read(path)
