"""Answers of a live database's snapshot by an engine asked for by name: used, or an error."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gpugda.answer.named_database import refuse_other_databases
from gpugda.answer.on_snapshot import ATTEMPTS, SnapshotAnswers
from gpugda.answer.projection import refuse_outside
from gpugda.errors import ConfigurationError, QueryError, StaleSnapshotError
from gpugda.live.properties import missing_properties
from gpugda.query.prepare import check_compiles
from gpugda.query.property_needs import property_needs
from gpugda.query.reads import reads_of
from gpugda.query.statement import Statement

if TYPE_CHECKING:
    from gpugda.answer.on_snapshot import RanAhead
    from gpugda.answer.request import Request
    from gpugda.answer.routing import Router
    from gpugda.live.keeper import Admission, SnapshotKeeper
    from gpugda.live.properties import MissingProperties
    from gpugda.loading import LoadedGraph
    from gpugda.ports import DatabaseServer
    from gpugda.query.query_graph import Query
    from gpugda.query.reads import Reads
    from gpugda.result.result import Result

__all__ = ["DemandedAnswers", "admission_for", "checked", "missing_for"]

_MOST_TEXTS = 256


class DemandedAnswers:
    """One live database and its snapshot.

    Args:
        server: The database.
        keeper: Its snapshot.
        router: Tells how long the device may take.
        snapshot: Answers from it.
    """

    def __init__(
        self,
        server: DatabaseServer,
        keeper: SnapshotKeeper,
        router: Router,
        snapshot: SnapshotAnswers,
    ) -> None:
        self._server = server
        self._keeper = keeper
        self._router = router
        self._snapshot = snapshot

    def run(self, request: Request, engine: str) -> Result:
        """The answer of this engine, from a fresh snapshot.

        Raises:
            ConfigurationError: The engine cannot answer this here.
            QueryError: It is no query, or not answered by it.
            StaleSnapshotError: There is no fresh snapshot to be had.
        """
        facts = self._server.facts
        if not facts.sees_everything:
            raise ConfigurationError(
                f"engine={engine!r} is not possible: {facts.restriction}; use engine='native'."
            )
        query = checked(request, self._server)
        if query.mode is not None:
            raise ConfigurationError(
                f"{query.mode} is Neo4j's own: use engine='native', or explain() for ours."
            )
        for _ in range(ATTEMPTS):
            ahead = self._ahead(request, engine)
            loaded = self._fresh(request, ahead)
            missing = missing_for(loaded, query)
            with request.stage("properties"):
                there = self._snapshot.load(loaded, missing) if missing else loaded
            found = None
            if there is not None:
                found = self._snapshot.answer(request, there, engine, request.deadline, ahead)
            if found is not None:
                return found.result(request, reason=f"engine={engine!r} was asked for")
            self._refuse_if_manual()
        raise StaleSnapshotError(
            f"The database changed during each of {ATTEMPTS} attempts to answer from one state of "
            "it; use engine='auto', which leaves the query to Neo4j then."
        )

    def _ahead(self, request: Request, engine: str) -> RanAhead | None:
        loaded = self._keeper.loaded
        if engine != "gpu" or loaded is None:
            return None
        with request.stage("plan"):
            plan = loaded.plan(request.prepared(), request.strategy)
            expected = self._router.decide(request, plan, loaded, self._keeper).device_seconds
        return self._snapshot.run_ahead(request, loaded, expected, request.deadline)

    def _fresh(self, request: Request, ahead: RanAhead | None) -> LoadedGraph:
        admission = admission_for(request, self._keeper, ahead, follows=True)
        if admission.loaded is not None:
            request.notes["freshness"] = admission.reason
            return admission.loaded
        if not self._server.facts.has_bookmarks and self._keeper.freshness.policy == "strict":
            raise StaleSnapshotError(
                f"{admission.reason}: connect with freshness='manual' or 'max_age=…', or use "
                "engine='native'."
            )
        with request.stage("refresh"):
            loaded = self._keeper.refresh()
        how = loaded.followed if self._keeper.follows else ""
        request.notes["freshness"] = (
            f"{self._keeper.freshness}: {how or 'read anew for this query'}"
        )
        return loaded

    def _refuse_if_manual(self) -> None:
        if self._keeper.freshness.policy == "manual":
            raise StaleSnapshotError(
                "The query reads properties that the snapshot does not have, and the database has "
                "changed since: call refresh(), or use engine='native'."
            )


def checked(request: Request, server: DatabaseServer) -> Query | Statement:
    """The analysed query, if the snapshot can answer it.

    Raises:
        QueryError: It is no Cypher, or nothing that can be answered here.
    """
    query = request.prepared()
    if isinstance(query, Statement):
        check_compiles(query, server.facts.default_cypher)
    refuse_other_databases(query, server.facts.database)
    refuse_outside(query, server.projection)
    return query


def missing_for(loaded: LoadedGraph, query: Query | Statement) -> MissingProperties:
    """What a query reads that the snapshot lacks."""
    return missing_properties(loaded.graph, property_needs(query))


@lru_cache(maxsize=_MOST_TEXTS)
def _reads(text: str) -> Reads | None:
    """What a query of this text reads; None where that is not known, or whole entities are.

    Of those, properties are read when the rows are known, and proven to be of the snapshot's state:
    it has to be the newest one.
    """
    try:
        found = reads_of(text)
    except QueryError:
        return None
    return None if found.any_key else found


def admission_for(
    request: Request, keeper: SnapshotKeeper, ahead: RanAhead | None, *, follows: bool
) -> Admission:
    """Whether the snapshot may answer; known already where the device ran ahead.

    ``follows``: It may be brought to the newest state for that.
    """
    if ahead is not None:
        return ahead.admission
    if follows and keeper.prefers_changes:
        with request.stage("changes"):
            admission = keeper.admit_following(_reads(request.text))
        if admission is not None:
            return admission
    with request.stage("probe"):
        return keeper.admit()
