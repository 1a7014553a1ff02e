"""Learns from the server in which order it lists labels that no node had together before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.data.increments.labels import changed_label_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.labels import LabelOrder
    from gpugda.ports import ChangeBatch, DatabaseServer

__all__ = ["learn_label_order", "learn_order"]


def learn_label_order(server: DatabaseServer, graph: DataGraph, batch: ChangeBatch) -> bool:
    """True if the label order of all nodes that a batch changes is known after asking.

    That order never changes, so the state in which a node is asked does not matter.

    Args:
        server: Is asked for the labels of a node that has them now.
        graph: The graph before the changes; its label order learns.
        batch: The changes.

    Raises:
        SourceError: The server cannot be reached.
    """
    sets = changed_label_sets(graph, batch)
    if not sets:
        return True
    order = graph.label_order()
    return all(learn_order(order, each, server.listed_labels) for each in sets)


def learn_order(
    order: LabelOrder,
    labels: Collection[str],
    ask: Callable[[Collection[str]], Sequence[str]],
) -> bool:
    """True if the order of these labels is known, if need be after asking for a node with them."""
    if order.knows(labels):
        return True
    order.add(ask(labels))
    return order.knows(labels)
