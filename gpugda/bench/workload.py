"""The cases of a benchmark, generated from the data graph or read from the user's file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.bench.cases import Case, cases_of
from gpugda.bench.query_file import application_cases, cases_of_file, read_parameters
from gpugda.bench.random_queries import DENSITIES, RandomQuery, random_queries
from gpugda.data.values.columns import to_values
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.bench.options import BenchOptions
    from gpugda.data.data_graph import DataGraph
    from gpugda.ports import Progress

__all__ = ["Workload", "make_workload"]


@dataclass(frozen=True, slots=True)
class Workload:
    """The queries of a benchmark.

    Args:
        cases: The queries.
        reached: For each size and density, the requested number and the number found in the graph.
        property_keys: Keys of the node properties that predicates read.
    """

    cases: tuple[Case, ...]
    reached: tuple[Mapping[str, Any], ...] = ()
    property_keys: tuple[str, ...] = ()


def make_workload(
    options: BenchOptions,
    graph: DataGraph,
    read_nodes: Callable[[NDArray[np.int64]], list[dict[str, Any]]] | None,
    progress: Progress,
) -> Workload:
    """Makes the cases.

    Args:
        options: Options of the benchmark.
        graph: The data graph.
        read_nodes: Properties of nodes by index, for a graph without loaded properties; None if
            they are in the graph.
        progress: Receives the progress.

    Raises:
        ConfigurationError: The workload would be empty.
    """
    if options.applications:
        return Workload(tuple(application_cases(options.load or options.graph_name)))
    if options.queries is not None:
        return Workload(tuple(cases_of_file(options.queries, read_parameters(options.parameters))))
    cases: list[Case] = []
    reached = []
    progress.phase("walking for query graphs", len(options.sizes) * len(DENSITIES))
    for size in options.sizes:
        for density in DENSITIES:
            found = random_queries(graph, size, density, options.per_size, options.seed)
            known = _properties(graph, found, read_nodes) if "predicate" in options.forms else {}
            properties = [{node: known.get(node, {}) for node in q.node_indexes} for q in found]
            cases += cases_of(found, properties, options.forms, options.row_cap)
            reached.append(_reached(size, density, options.per_size, found))
            progress.advance(1)
    if not cases:
        raise ConfigurationError(
            "The graph has no connected part of these sizes to make query graphs of: choose "
            "smaller --sizes, or give queries of your own with --queries."
        )
    keys = sorted({_key(case) for case in cases if case.form == "predicate"})
    return Workload(tuple(cases), tuple(reached), tuple(keys))


def _key(case: Case) -> str:
    condition = next(piece for piece in case.pieces if " = $value" in piece)
    name = condition.partition(".`")[2].partition("` = $value")[0]
    return name.replace("``", "`")


def _properties(
    graph: DataGraph,
    queries: Sequence[RandomQuery],
    read_nodes: Callable[[NDArray[np.int64]], list[dict[str, Any]]] | None,
) -> dict[int, dict[str, Any]]:
    nodes = np.array(sorted({node for query in queries for node in query.node_indexes}), np.int64)
    if not len(nodes):
        return {}
    if read_nodes is not None:
        found = read_nodes(nodes)
    else:
        columns = {
            key: to_values(column, nodes) for key, column in graph.node_properties.columns.items()
        }
        found = [{key: values[row] for key, values in columns.items()} for row in range(len(nodes))]
    return dict(zip(nodes.tolist(), found, strict=True))


def _reached(size: int, density: str, wanted: int, found: Sequence[RandomQuery]) -> dict[str, Any]:
    counts = [len(query.relationships) for query in found]
    return {
        "nodes": size,
        "density": density,
        "wanted relationships": 2 * size if density == "dense" else size - 1,
        "reached: least": min(counts, default=0),
        "mean": round(float(np.mean(counts)), 2) if counts else 0,
        "most": max(counts, default=0),
        "wanted queries": wanted,
        "found": len(found),
        "different": len({(query.labels, query.relationships) for query in found}),
    }
