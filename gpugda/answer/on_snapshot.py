"""Answers from a live database's snapshot: the device's rows with their entities' properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.answer.on_graph import GraphAnswer, answer_by_reference, answer_on_device
from gpugda.errors import DeviceError, QueryError, StaleSnapshotError
from gpugda.live.entities import load_entities, properties_to_complete
from gpugda.live.properties import MissingProperties, load_properties, missing_properties
from gpugda.query.reads import property_needs

if TYPE_CHECKING:
    from gpugda.answer.request import Request
    from gpugda.execute.result_table import ResultTable
    from gpugda.live.keeper import Admission, SnapshotKeeper
    from gpugda.loading import LoadedGraph
    from gpugda.match.session import DeviceSession
    from gpugda.ports import DatabaseServer, DatabaseVersion, Progress

__all__ = ["ATTEMPTS", "EarlyAnswer", "SnapshotAnswers"]

ATTEMPTS = 3
"""Number of attempts, each from a newer snapshot, before giving up."""


_SHORT_SECONDS = 0.05
"""Queries expected to take less on the device run during the probe. Longer queries gain little
from that, and their work is wasted if the database has changed."""


@dataclass(frozen=True, slots=True)
class EarlyAnswer:
    """The device's answer, computed before it was known whether its snapshot may answer.

    Args:
        loaded: The snapshot.
        found: The answer, None if the device failed.
        admission: The decision whether the snapshot may answer.
    """

    loaded: LoadedGraph
    found: GraphAnswer | None
    admission: Admission


class SnapshotAnswers:
    """Answers from the snapshot of one live database with one device.

    Args:
        server: The database.
        keeper: Keeps its snapshot.
        session: The device.
        progress: Receives the progress of reading properties.
    """

    def __init__(
        self,
        server: DatabaseServer,
        keeper: SnapshotKeeper,
        session: DeviceSession,
        progress: Progress,
    ) -> None:
        self._server = server
        self._keeper = keeper
        self._session = session
        self._progress = progress
        self._completed: tuple[DatabaseVersion | None, MissingProperties] | None = None

    def newest(self) -> LoadedGraph:
        """Returns the snapshot, however old it is; reads one if there is none."""
        return self._keeper.loaded or self._keeper.refresh()

    def complete(self) -> LoadedGraph:
        """Returns the snapshot with all its properties.

        Raises:
            SourceError: The properties cannot be read, or the database changed in each attempt.
        """
        for _ in range(ATTEMPTS):
            loaded = self.newest()
            graph = loaded.graph
            missing = MissingProperties(
                () if graph.node_properties.complete else None,
                () if graph.relationship_properties.complete else None,
                0.0,
            )
            if not missing:
                return loaded
            found = load_properties(self._keeper, self._server, loaded, missing, self._progress)
            if found is not None:
                return found
            self._keeper.refresh()
        raise StaleSnapshotError("The database changed each time its properties were read.")

    def answer_early(
        self, request: Request, loaded: LoadedGraph, expected: float, deadline: float | None
    ) -> EarlyAnswer | None:
        """Runs the query on the device during a probe; None if that is not worth it.

        Args:
            request: The query.
            loaded: The snapshot.
            expected: Expected seconds on the device.
            deadline: As in `answer`.

        Raises:
            GpugdaError: The probe failed, or the device failed on a snapshot that is fresh.
        """
        if expected > _SHORT_SECONDS or not self._session.is_ready(loaded.graph):
            return None
        if not self._keeper.needs_probe or self._keeper.is_busy_database:
            return None
        if missing_properties(loaded.graph, property_needs(request.prepared())):
            return None
        failed, found = None, None
        with self._keeper.asking() as answer:
            try:
                found = answer_on_device(request, loaded, self._session, deadline)
            except (QueryError, DeviceError) as error:  # perhaps only for an old state
                failed = error
            with request.stage("probe"):
                admission = answer()
        if failed is not None and admission.loaded is loaded:
            raise failed
        return EarlyAnswer(loaded, found, admission)

    def answer(
        self,
        request: Request,
        loaded: LoadedGraph,
        engine: str,
        deadline: float | None,
        early: EarlyAnswer | None = None,
    ) -> GraphAnswer | None:
        """Answers, with the properties of whole entities; None if the database changed."""
        if engine == "reference":
            found = answer_by_reference(request, loaded)
        elif early is not None and early.found is not None and early.loaded is loaded:
            found = early.found
        else:
            found = answer_on_device(request, loaded, self._session, deadline)
        with request.stage("entities"):
            table = load_entities(self._keeper, self._server, loaded, found.table)
        if table is None:
            return None
        self._complete_soon(loaded, table)
        return GraphAnswer(table, found.facts)

    def _complete_soon(self, loaded: LoadedGraph, table: ResultTable) -> None:
        """Reads all properties in the background if the result shows whole entities."""
        if table.entity_properties is None:
            return
        missing = properties_to_complete(loaded.graph, table.entity_properties)
        # Once per snapshot: if the database has changed since then, every attempt would fail.
        if not missing or self._completed == (loaded.version, missing):
            return
        if self._keeper.in_background(lambda: self.load(loaded, missing)):
            self._completed = (loaded.version, missing)

    def load(self, loaded: LoadedGraph, missing: MissingProperties) -> LoadedGraph | None:
        """Returns this or a later snapshot with these properties; None if the database changed."""
        found = load_properties(self._keeper, self._server, loaded, missing, self._progress)
        if found is not None and not found.transactions:
            self._keeper.keep(found)
        return found
