"""Which of a server's ways of telling changes is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cdc_changes import CapturedChanges, captures_changes
from .plugin_changes import PluginChanges

if TYPE_CHECKING:
    from gpugda.ports import ChangeSource

    from .bolt_connection import BoltConnection

__all__ = ["ChangeSources"]


class ChangeSources:
    """The change source of a connection, chosen by what is known of the server now."""

    def __init__(self, connection: BoltConnection) -> None:
        self._connection = connection
        self._plugin = PluginChanges(connection)
        self._captured = CapturedChanges(connection)
        self._captures: bool | None = None

    def source(self) -> ChangeSource | None:
        """None where there is none, or where the user may not see everything.

        The plugin hears only of what is committed on its own server, so not in a cluster.
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
