"""Properties that columns cannot hold, so that each is read in vain once per snapshot."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpugda.ports import UnkeptPropertyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["UnkeptProperties"]

_KNOWN_SECONDS = 60.0


class UnkeptProperties:
    """Remembers, until a snapshot is read anew, which properties could not be read.

    Those of a followed database are forgotten after a while, as its changes may mend them.
    """

    def __init__(self) -> None:
        self._messages: dict[tuple[bool, str], str] = {}
        self._first_at = 0.0

    def forget(self) -> None:
        """Forgets all, as the values may be gone."""
        self._messages = {}

    def changed(self) -> None:
        """Forgets all if the first one has been known for a while: reading them takes seconds."""
        if self._messages and time.monotonic() - self._first_at > _KNOWN_SECONDS:
            self.forget()

    def refuse(self, keys: Iterable[str] | None, *, of_nodes: bool) -> None:
        """Raises the error of an earlier attempt to read one of these properties.

        Args:
            keys: The keys; None for all properties.
            of_nodes: True for those of nodes, False for those of relationships.

        Raises:
            UnkeptPropertyError: One of them could not be read.
        """
        asked = None if keys is None else frozenset(keys)
        for (kind, key), message in tuple(self._messages.items()):
            if kind == of_nodes and (asked is None or key in asked):
                raise UnkeptPropertyError(key, message)

    @contextmanager
    def reading(self, *, of_nodes: bool) -> Iterator[None]:
        """Remembers the property whose values cannot be kept."""
        try:
            yield
        except UnkeptPropertyError as error:
            if not self._messages:
                self._first_at = time.monotonic()
            self._messages[of_nodes, error.key] = str(error)
            raise
