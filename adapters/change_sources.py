"""Chooses a server's change source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cdc_changes import CapturedChanges, captures_changes
from .plugin_changes import PluginChanges

if TYPE_CHECKING:
    from gpugda.ports import ChangeSource

    from .bolt_connection import BoltConnection

__all__ = ["ChangeSources"]


class ChangeSources:
    """The change source of a connection, chosen by the current facts about the server."""

    def __init__(self, connection: BoltConnection) -> None:
        self._connection = connection
        self._plugin = PluginChanges(connection)
        self._captured = CapturedChanges(connection)
        self._captures: bool | None = None

    def source(self) -> ChangeSource | None:
        """None if there is no source, or if the user may not see the whole graph.

        The plugin sees only transactions committed on its own server, so it is not used in a
        cluster.
        """
        facts = self._connection.facts
        if not (facts.sees_everything and facts.has_bookmarks and facts.product == "Neo4j"):
            return None
        if facts.plugin and not facts.clustered:
            return self._plugin
        if facts.edition == "community":
            return None
        if self._captures is None:
            self._captures = captures_changes(self._connection)
        return self._captured if self._captures else None
