"""Runs a query on a live database's snapshot with the engine that the caller named, or fails."""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING

from gpugda.answer.on_snapshot import ATTEMPTS, SnapshotAnswers
from gpugda.answer.projection import refuse_other_databases, refuse_outside
from gpugda.answer.server_only import (
    refuse_lost_counts,
    refuse_options,
    refuse_sums_as_conditions,
    refuse_unknown_version,
)
from gpugda.errors import (
    ConfigurationError,
    QueryError,
    StaleSnapshotError,
    UnsupportedQueryError,
)
from gpugda.live.properties import missing_properties
from gpugda.query.prepare import check_compiles, prepare
from gpugda.query.reads import property_needs, reads_of

if TYPE_CHECKING:
    from gpugda.answer.on_snapshot import EarlyAnswer
    from gpugda.answer.request import Request
    from gpugda.answer.routing import Router
    from gpugda.live.keeper import Admission, SnapshotKeeper
    from gpugda.live.properties import MissingProperties
    from gpugda.loading import LoadedGraph
    from gpugda.ports import DatabaseServer
    from gpugda.query.reads import Reads
    from gpugda.query.statement import Statement
    from gpugda.result.result import Result

__all__ = ["DemandedAnswers", "admission_for", "checked", "missing_for"]

_MAX_TEXTS = 256


class DemandedAnswers:
    """Answers from the snapshot of one live database.

    Args:
        server: The database.
        keeper: Keeps its snapshot.
        router: Estimates how long the device takes.
        snapshot: Answers queries from the snapshot.
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
        """Answers with this engine from a fresh snapshot.

        Raises:
            ConfigurationError: The engine cannot answer this request here.
            QueryError: The text is no query, or the engine does not support it.
            StaleSnapshotError: No fresh snapshot could be obtained.
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
            early = self._early(request, engine)
            loaded = self._fresh(request, early)
            missing = missing_for(loaded, query)
            with request.stage("properties"):
                there = self._snapshot.load(loaded, missing) if missing else loaded
            found = None
            if there is not None:
                found = self._snapshot.answer(request, there, engine, request.deadline, early)
            if found is not None:
                return found.result(request, reason=f"engine={engine!r} was asked for")
            self._refuse_if_manual()
        raise StaleSnapshotError(
            f"The database changed during each of {ATTEMPTS} attempts to answer from one state of "
            "it; use engine='auto', which leaves the query to Neo4j then."
        )

    def _early(self, request: Request, engine: str) -> EarlyAnswer | None:
        loaded = self._keeper.loaded
        if engine != "gpu" or loaded is None:
            return None
        with request.stage("plan"):
            plan = loaded.plan(request.prepared(), request.strategy)
            expected = self._router.decide(request, plan, loaded, self._keeper).device_seconds
        return self._snapshot.answer_early(request, loaded, expected, request.deadline)

    def _fresh(self, request: Request, early: EarlyAnswer | None) -> LoadedGraph:
        admission = admission_for(request, self._keeper, early, follows=True)
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


def checked(request: Request, server: DatabaseServer) -> Statement:
    """Returns the analysed query if the snapshot can answer it.

    Raises:
        QueryError: The text is no Cypher, or cannot be answered here.
    """
    query = request.prepared()
    check_compiles(query, server.facts.default_cypher)
    refuse_unknown_version(query, server.facts)
    refuse_options(query)
    if server.facts.product == "Neo4j" and (differs := _left_to_neo4j(query.text)) is not None:
        raise copy(differs)
    refuse_other_databases(query, server.facts.database)
    refuse_outside(query, server.projection)
    return query


def missing_for(loaded: LoadedGraph, query: Statement) -> MissingProperties:
    """Returns the properties that a query reads and the snapshot lacks."""
    return missing_properties(loaded.graph, property_needs(query))


@lru_cache(maxsize=_MAX_TEXTS)
def _left_to_neo4j(text: str) -> UnsupportedQueryError | None:
    """Why Neo4j may answer a query otherwise than gpugda would; None if it does not."""
    query = prepare(text)
    try:
        refuse_lost_counts(query)
        refuse_sums_as_conditions(query)
    except UnsupportedQueryError as error:
        return copy(error)
    return None


@lru_cache(maxsize=_MAX_TEXTS)
def _reads(text: str) -> Reads | None:
    """Returns what a query reads; None if that is unknown or the query reads whole entities.

    The properties of whole entities are read once the rows are known, and must be proven to belong
    to the snapshot's state: the snapshot has to be the newest one.
    """
    try:
        found = reads_of(text)
    except QueryError:
        return None
    return None if found.any_key else found


def admission_for(
    request: Request, keeper: SnapshotKeeper, early: EarlyAnswer | None, *, follows: bool
) -> Admission:
    """Decides whether the snapshot may answer; known already if the device answered early.

    ``follows``: True if the snapshot may be brought to the newest state first.
    """
    if early is not None:
        return early.admission
    if follows and keeper.prefers_changes:
        with request.stage("changes"):
            admission = keeper.admit_following(_reads(request.text))
        if admission is not None:
            return admission
    with request.stage("probe"):
        return keeper.admit()
