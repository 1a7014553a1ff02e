"""Interface of change sets: the difference between two states of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.batches import NodeBatch, RelationshipBatch
    from gpugda.data.values.column import Column

__all__ = ["Changes", "ChangesError", "LabelChanges", "PropertyChanges"]


class ChangesError(ValueError):
    """The changes belong to another state than the graph's, so the graph must be read again."""


class LabelChanges(Protocol):
    """See `gpugda.ports.LabelChanges`."""

    @property
    def node_ids(self) -> NDArray[np.int64]:
        """Node of each label change; a node occurs once per changed label."""

    @property
    def label_codes(self) -> NDArray[np.int32]:
        """Position in ``labels`` of each changed label."""

    @property
    def added(self) -> NDArray[np.bool_]:
        """True where the label was added, False where it was removed."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Distinct label names."""


class PropertyChanges(Protocol):
    """See `gpugda.ports.PropertyChanges`."""

    @property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the nodes or relationships, strictly increasing."""

    @property
    def values(self) -> Column | None:
        """New value per id, null where the property was removed; None if not included."""


class Changes(Protocol):
    """See `gpugda.ports.ChangeBatch`."""

    @property
    def created_nodes(self) -> NodeBatch:
        """Created nodes in order of id, without properties."""

    @property
    def deleted_nodes(self) -> NDArray[np.int64]:
        """Ids of deleted nodes, increasing."""

    @property
    def labels(self) -> LabelChanges:
        """Label changes of nodes that exist before and after."""

    @property
    def created_relationships(self) -> RelationshipBatch:
        """Created relationships with their ids, without properties."""

    @property
    def deleted_relationships(self) -> RelationshipBatch:
        """Deleted relationships with the ends and types that they had."""

    @property
    def node_properties(self) -> Mapping[str, PropertyChanges]:
        """Property changes by key, including created nodes."""

    @property
    def relationship_properties(self) -> Mapping[str, PropertyChanges]:
        """Property changes by key, including created relationships."""
