"""Which engine is worth it: the planner's rules, rates, and the times that were seen before."""

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
"""By the names that ``planner=`` takes."""


class Router:
    """Judges queries of one accelerator.

    Args:
        planner: Name of the rule that decides.
        session: The device.
        server: The database.

    Raises:
        ConfigurationError: There is no such rule.
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
        """What the asked rule says."""
        return RULES[self._planner](self._input(request, plan, loaded, keeper))

    def is_curious(
        self, request: Request, plan: Plan, loaded: LoadedGraph, keeper: SnapshotKeeper
    ) -> bool:
        """Would it help to know how long the database takes for this text?"""
        return self._planner == "cost" and is_worth_learning(
            self._input(request, plan, loaded, keeper)
        )

    def described(
        self, request: Request, plan: Plan, loaded: LoadedGraph, keeper: SnapshotKeeper
    ) -> tuple[str, ...]:
        """What every rule says, a line a rule."""
        given = self._input(request, plan, loaded, keeper)
        return tuple(route_text([rule(given) for rule in RULES.values()], self._planner))

    def streamed(self, plan: Plan, loaded: LoadedGraph) -> tuple[str, ...]:
        """A line where the graph is larger than the device's memory: what would be sent."""
        found = self._device.streaming(plan, loaded.graph)
        return () if found is None else (str(found),)

    def record_device(self, request: Request, loaded: LoadedGraph, seconds: float) -> None:
        """The device took so long."""
        self._history.add_device(request.text, seconds)

    def record_native(self, request: Request, seconds: float) -> None:
        """The database took so long."""
        self.observe_native(request.text, seconds)

    def observe_native(self, text: str, seconds: float | None) -> None:
        """The database answered a text, in so many seconds if that is known."""
        self._history.add_native(text, seconds)

    def calibrate(self, *, again: bool = False) -> tuple[DeviceRates, ServerRates]:
        """Measures the device and the server, unless their rates are kept from an earlier time.

        Args:
            again: Measure all the same.

        Raises:
            DeviceError: There is no device, or it failed.
            SourceError, neo4j.exceptions.Neo4jError: The server cannot be asked.
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
