"""Chooses the engine, by the planner's rules, calibrated rates and earlier run times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.answer.device_costs import DeviceCosts, row_limit
from gpugda.calibration.kept import kept_server_rates
from gpugda.calibration.server import server_rates
from gpugda.errors import ConfigurationError
from gpugda.plan.route.cost import is_worth_learning, judge_by_cost
from gpugda.plan.route.density import judge_by_density
from gpugda.plan.route.history import History
from gpugda.plan.route.rates import LOCAL_SERVER
from gpugda.plan.route.route import RouteInput, Verdict, route_text
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.answer.request import Request
    from gpugda.live.keeper import SnapshotKeeper
    from gpugda.loading import LoadedGraph
    from gpugda.match.session import DeviceSession
    from gpugda.plan.plan import Plan
    from gpugda.plan.route.rates import DeviceRates, ServerRates
    from gpugda.ports import DatabaseServer
    from gpugda.query.query_graph import Query

__all__ = ["RULES", "Router", "Verdict"]

RULES: Final[dict[str, Callable[[RouteInput], Verdict]]] = {
    "cost": judge_by_cost,
    "density": judge_by_density,
}
"""Routing rules by the names that ``planner=`` accepts."""


class Router:
    """Chooses the engine for each query of one accelerator.

    Args:
        planner: Name of the rule that decides.
        session: The device.
        server: The database.

    Raises:
        ConfigurationError: No rule has this name.
    """

    def __init__(self, planner: str, session: DeviceSession, server: DatabaseServer) -> None:
        if planner not in RULES:
            raise ConfigurationError(
                f"planner is {planner!r}; it can be {', '.join(map(repr, RULES))}."
            )
        self._planner = planner
        self._session = session
        self._server = server
        self._history = History()
        self._device = DeviceCosts(session)
        self._server_rates: ServerRates | None = None

    def decide(
        self, request: Request, plan: Plan, loaded: LoadedGraph, keeper: SnapshotKeeper
    ) -> Verdict:
        """Returns the verdict of the selected rule."""
        return RULES[self._planner](self._input(request, plan, loaded, keeper))

    def wants_native_time(
        self, request: Request, plan: Plan, loaded: LoadedGraph, keeper: SnapshotKeeper
    ) -> bool:
        """True if the database's time for this text would help to decide."""
        return self._planner == "cost" and is_worth_learning(
            self._input(request, plan, loaded, keeper)
        )

    def described(
        self, request: Request, plan: Plan, loaded: LoadedGraph, keeper: SnapshotKeeper
    ) -> tuple[str, ...]:
        """Verdicts of all rules, one line per rule."""
        given = self._input(request, plan, loaded, keeper)
        return tuple(route_text([rule(given) for rule in RULES.values()], self._planner))

    def streamed(self, plan: Plan, loaded: LoadedGraph) -> tuple[str, ...]:
        """One line about data to be sent in segments, or about a count by vectors."""
        found = self._device.streaming(plan, loaded.graph)
        return self._device.vectors(plan, loaded.graph) if found is None else (str(found),)

    def record_device(self, request: Request, loaded: LoadedGraph, seconds: float) -> None:
        """Records how long the device took."""
        self._history.add_device(request.text, seconds)

    def record_given_up(self, text: str, seconds: float) -> None:
        """Records that the device had not finished a text after these seconds."""
        self._history.add_given_up(text, seconds)

    def record_native(self, request: Request, seconds: float) -> None:
        """Records how long the database took."""
        self.observe_native(request.text, seconds)

    def observe_native(self, text: str, seconds: float | None) -> None:
        """Records that the database answered a text; ``seconds`` is None if unknown."""
        self._history.add_native(text, seconds)

    def calibrate(self, *, again: bool = False) -> tuple[DeviceRates, ServerRates]:
        """Measures the device and the server, unless saved rates exist.

        Args:
            again: True to measure even if saved rates exist.

        Raises:
            DeviceError: There is no device, or it failed.
            SourceError, neo4j.exceptions.Neo4jError: The server cannot be queried.
        """
        device = self._device.measure(again=again)
        self._server_rates = server_rates(self._server, again=again)
        return device, self._server_rates

    # -------------------------------------------------------------- inside
    def _input(
        self, request: Request, plan: Plan, loaded: LoadedGraph, keeper: SnapshotKeeper
    ) -> RouteInput:
        query, graph = plan.bound.query, loaded.graph
        return RouteInput(
            plan,
            graph.statistics,
            self._device.rates,
            self._rates_of_server(),
            entity_columns=_entity_columns(query),
            entities_known=graph.node_properties.complete
            and (graph.relationship_properties.complete or not _shows_relationships(query)),
            observed=self._history.observed(request.text),
            probes=1 if keeper.freshness.policy == "strict" else 0,
            limit=row_limit(request),
            opening_seconds=self._device.opening_seconds(graph),
            sent_bytes=self._device.sent_bytes(plan, graph),
        )

    def _rates_of_server(self) -> ServerRates:
        if self._server_rates is None:
            self._server_rates = kept_server_rates(self._server.facts) or LOCAL_SERVER
        return self._server_rates


def _entity_columns(query: Query) -> int:
    return sum(isinstance(column.expression, ast.Variable) for column in query.columns)


def _shows_relationships(query: Query) -> bool:
    names = {relationship.name for relationship in query.graph.relationships}
    shown = (column.expression for column in query.columns)
    return any(isinstance(each, ast.Variable) and each.name in names for each in shown)
