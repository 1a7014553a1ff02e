"""What leads from one state of a graph to the next: what the port of change sources gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.batches import NodeBatch, RelationshipBatch
    from gpugda.data.column import Column

__all__ = ["Changes", "ChangesError", "LabelChanges", "PropertyChanges"]


class ChangesError(ValueError):
    """Changes that do not fit the graph: they are of another state, so it has to be read anew."""


class LabelChanges(Protocol):
    """See `gpugda.ports.LabelChanges`."""

    @property
    def node_ids(self) -> NDArray[np.int64]:
        """A node stands here once per label that changed."""

    @property
    def label_codes(self) -> NDArray[np.int32]:
        """Position in ``labels``."""

    @property
    def added(self) -> NDArray[np.bool_]:
        """Got, else lost."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Distinct names."""


class PropertyChanges(Protocol):
    """See `gpugda.ports.PropertyChanges`."""

    @property
    def ids(self) -> NDArray[np.int64]:
        """Rising, none twice."""

    @property
    def values(self) -> Column | None:
        """Null where it was removed; None if they have to be read."""


class Changes(Protocol):
    """See `gpugda.ports.ChangeBatch`."""

    @property
    def created_nodes(self) -> NodeBatch:
        """By rising id, without properties."""

    @property
    def deleted_nodes(self) -> NDArray[np.int64]:
        """Rising ids."""

    @property
    def labels(self) -> LabelChanges:
        """Of nodes that stay."""

    @property
    def created_relationships(self) -> RelationshipBatch:
        """With their ids, without properties."""

    @property
    def deleted_relationships(self) -> RelationshipBatch:
        """With the ends and types that they had."""

    @property
    def node_properties(self) -> Mapping[str, PropertyChanges]:
        """By key, also of created nodes."""

    @property
    def relationship_properties(self) -> Mapping[str, PropertyChanges]:
        """By key, also of created relationships."""
