"""Answers from the snapshot of a live database: the device's rows, and the properties they show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.answer.on_graph import GraphAnswer, answer_by_reference, answer_on_device
from gpugda.errors import DeviceError, QueryError, StaleSnapshotError
from gpugda.live.entities import load_entities, properties_to_complete
from gpugda.live.properties import MissingProperties, load_properties, missing_properties
from gpugda.query.property_needs import property_needs

if TYPE_CHECKING:
    from gpugda.answer.request import Request
    from gpugda.execute.result_table import ResultTable
    from gpugda.live.keeper import Admission, SnapshotKeeper
    from gpugda.loading import LoadedGraph
    from gpugda.match.session import DeviceSession
    from gpugda.ports import DatabaseServer, DatabaseVersion, Progress

__all__ = ["ATTEMPTS", "RanAhead", "SnapshotAnswers"]

ATTEMPTS = 3
"""How often a newer snapshot is taken before it is said that this is futile."""


_SHORT_SECONDS = 0.05
"""What is expected to take less on the device runs while the probe is under way. Longer ones gain
little by it, and would go on for nothing where the database has changed."""


@dataclass(frozen=True, slots=True)
class RanAhead:
    """What the device found before it was known whether its snapshot may answer.

    Args:
        loaded: That snapshot.
        found: Its rows, None where they could not be had.
        admission: Whether it may answer.
    """

    loaded: LoadedGraph
    found: GraphAnswer | None
    admission: Admission


class SnapshotAnswers:
    """One live database's snapshot, and one device.

    Args:
        server: The database.
        keeper: Its snapshot.
        session: The device.
        progress: Told how far reading properties has come.
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
        """The snapshot, however old it is; read where there is none."""
        return self._keeper.loaded or self._keeper.refresh()

    def complete(self) -> LoadedGraph:
        """The snapshot with all its properties.

        Raises:
            SourceError: They cannot be read, or the database changed since the snapshot.
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

    def run_ahead(
        self, request: Request, loaded: LoadedGraph, expected: float, deadline: float | None
    ) -> RanAhead | None:
        """The device's rows and a probe at the same time; None where that is not worth it.

        Args:
            request: What is asked.
            loaded: The snapshot.
            expected: Seconds on the device.
            deadline: As in `answer`.

        Raises:
            GpugdaError: The device's, of a snapshot that is fresh; or the probe's.
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
            except (QueryError, DeviceError) as error:  # maybe only of a state that is gone
                failed = error
            with request.stage("probe"):
                admission = answer()
        if failed is not None and admission.loaded is loaded:
            raise failed
        return RanAhead(loaded, found, admission)

    def answer(
        self,
        request: Request,
        loaded: LoadedGraph,
        engine: str,
        deadline: float | None,
        ahead: RanAhead | None = None,
    ) -> GraphAnswer | None:
        """The answer with the properties of whole entities; None if the database changed."""
        if engine == "reference":
            found = answer_by_reference(request, loaded)
        elif ahead is not None and ahead.found is not None and ahead.loaded is loaded:
            found = ahead.found
        else:
            found = answer_on_device(request, loaded, self._session, deadline)
        with request.stage("entities"):
            table = load_entities(self._keeper, self._server, loaded, found.table)
        if table is None:
            return None
        self._complete_soon(loaded, table)
        return GraphAnswer(table, found.facts)

    def _complete_soon(self, loaded: LoadedGraph, table: ResultTable) -> None:
        """Reads all properties in the background, where results show whole entities."""
        if table.entity_properties is None:
            return
        missing = properties_to_complete(loaded.graph, table.entity_properties)
        # Once for each snapshot: where the database has changed since, it would fail each time.
        if not missing or self._completed == (loaded.version, missing):
            return
        if self._keeper.in_background(lambda: self.load(loaded, missing)):
            self._completed = (loaded.version, missing)

    def load(self, loaded: LoadedGraph, missing: MissingProperties) -> LoadedGraph | None:
        """The snapshot, or a later one, with these properties; None where the database changed."""
        found = load_properties(self._keeper, self._server, loaded, missing, self._progress)
        if found is not None and not found.transactions:
            self._keeper.keep(found)
        return found
