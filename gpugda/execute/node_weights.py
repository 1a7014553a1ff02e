"""Which nodes of a graph qualify for a query node, and their degrees, for estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.property_store import PropertyNotReadError
from gpugda.errors import GpugdaError
from gpugda.execute.paths.path_growth import is_large
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_truth
from gpugda.expressions.parameters import Parameters
from gpugda.plan.plan import LabelOp
from gpugda.query import ast
from gpugda.query.shapes import QUERIES
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.column_domains import Domain
    from gpugda.plan.label_programs import Program
    from gpugda.plan.plan import BoundQuery

__all__ = ["NodeWeights"]


class NodeWeights:
    """Arrays of all nodes, computed once for an estimate.

    Args:
        graph: The data graph.
    """

    def __init__(self, graph: DataGraph) -> None:
        self._graph = graph
        self._qualifying: dict[object, NDArray[np.float64]] = {}
        self._with_labels: dict[Program, NDArray[np.float64]] = {}

    def correction(self, bound: BoundQuery) -> float:
        """The embeddings as a multiple of the plan's, from degrees of the nodes that qualify.

        Plans know the statistics only. Here conditions are evaluated on nodes of the graph.
        """
        factor = 1.0
        for node in bound.nodes:
            if not node.predicates or bound.no_rows is not None:
                continue
            if is_large(self._graph) or not self._is_evaluated(bound, node.position):
                factor *= max(1.0, node.cardinality) / max(node.cardinality, 1e-9)
                continue
            labelled = self._labelled(bound, node.position)
            members = self.members(bound, node.position)
            factor *= max(1.0, float(members.sum())) / max(node.cardinality, 1e-9)
            factor *= self.degree_ratio(bound, node.position, members, labelled)
        return factor

    def degree_ratio(
        self,
        bound: BoundQuery,
        position: int,
        given: NDArray[np.float64],
        usual: NDArray[np.float64],
    ) -> float:
        """Mean degrees of the given nodes as a multiple of those of others, in a pattern."""
        factor, given_total, usual_total = 1.0, float(given.sum()), float(usual.sum())
        if not given_total or not usual_total:
            return 1.0
        for each in bound.relationships:
            if position in (each.source, each.target) and each.source != each.target:
                degrees = self._degrees_of(bound, position, each.position)
                mean = float((degrees * usual).sum()) / usual_total
                own = float((degrees * given).sum()) / given_total
                factor *= own / mean if mean else 1.0
        return factor

    def _degrees_of(self, bound: BoundQuery, position: int, link: int) -> NDArray[np.float64]:
        """Per node, its relationships of the kind of a query relationship."""
        each = bound.relationships[link]
        kind = each.types, (each.source == position) if each.directed else None
        return self._graph.degrees_of(kind)

    def cardinality(self, bound: BoundQuery, position: int) -> float:
        """Nodes that qualify for a query node by their labels and properties."""
        node = bound.nodes[position]
        if not node.predicates or is_large(self._graph):
            return max(node.cardinality, 1.0)
        return max(1.0, float(self.members(bound, position).sum()))

    def having(self, bound: BoundQuery, position: int) -> float:
        """Those of them that have the relationships of the pattern."""
        found = self.cardinality(bound, position)
        for each in bound.relationships:
            for end, skew in zip((each.source, each.target), each.skew, strict=True):
                if end == position and each.source != each.target:
                    found = min(found, max(1.0, skew.nonzero_count))
        return found

    def of(self, domain: Domain | None) -> NDArray[np.float64] | None:
        """How often a column holds each node, relative to the others; None if unknown."""
        if domain is None:
            return None
        if domain.ends is not None:
            return domain.ends
        if domain.place is None or is_large(self._graph):
            return None
        bound, position = domain.place
        weights = self.members(bound, position)
        for each in bound.relationships:
            if position in (each.source, each.target) and each.source != each.target:
                weights = weights * self._degrees_of(bound, position, each.position)
        return weights

    def _is_evaluated(self, bound: BoundQuery, position: int) -> bool:
        """True if the conditions of a query node were evaluated on all nodes."""
        return self.members(bound, position) is not self._labelled(bound, position)

    def members(self, bound: BoundQuery, position: int) -> NDArray[np.float64]:
        """1 for each node that qualifies; not for large graphs."""
        node = bound.nodes[position]
        key = node.labels, node.predicates
        if key not in self._qualifying:
            members = self._labelled(bound, position)
            if node.predicates:
                holds = self._holding(node.name, node.predicates, bound.query.text)
                members = members if holds is None else members * holds
            self._qualifying[key] = members
        return self._qualifying[key]

    def _holding(
        self, name: str, predicates: tuple[ast.Expression, ...], text: str
    ) -> NDArray[np.bool_] | None:
        """Per node, True if conditions hold; None if they read parameters or unread properties."""
        graph = self._graph
        if any(isinstance(n, (ast.Parameter, *QUERIES)) for each in predicates for n in walk(each)):
            return None
        every = np.arange(graph.node_count, dtype=np.uint32)
        environment = Environment(
            graph.node_count,
            Parameters({}, text),
            text,
            graph,
            {name: Column(ColumnKind.NODE, every)},
            everything=True,
        )
        try:
            truth = evaluate_truth(predicates, environment)
        except (GpugdaError, PropertyNotReadError):
            return None
        return np.array(np.broadcast_to(truth.holds, graph.node_count))

    def _labelled(self, bound: BoundQuery, position: int) -> NDArray[np.float64]:
        """1 for each node that has the labels of a query node."""
        labels = bound.nodes[position].labels
        if labels not in self._with_labels:
            self._with_labels[labels] = self._find_labelled(labels)
        return self._with_labels[labels]

    def _find_labelled(self, labels: Program) -> NDArray[np.float64]:
        members = np.ones(self._graph.node_count)
        if all(operation in (LabelOp.LABEL, LabelOp.AND) for operation, _ in labels):
            for operation, label in labels:
                if operation is LabelOp.LABEL:
                    members *= self._graph.has_label(label)
        return members
