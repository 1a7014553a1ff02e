"""Chooses the engine, by the planner's rules, calibrated rates and earlier run times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.answer.device_costs import DeviceCosts
from gpugda.calibration.kept import kept_server_rates
from gpugda.calibration.server import server_rates
from gpugda.errors import ConfigurationError
from gpugda.plan.cost import LOCAL_SERVER
from gpugda.plan.route.cost import expected_seconds, judge_by_cost
from gpugda.plan.route.density import judge_by_density
from gpugda.plan.route.history import History
from gpugda.plan.route.route import RouteInput, Verdict, route_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.answer.request import Request
    from gpugda.execute.pipeline import QueryPlan
    from gpugda.live.keeper import SnapshotKeeper
    from gpugda.loading import LoadedGraph
    from gpugda.match.session import DeviceSession
    from gpugda.plan.cost import DeviceRates, ServerRates
    from gpugda.plan.physical import PhysicalPlan
    from gpugda.ports import DatabaseServer

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
        self, request: Request, plan: QueryPlan, loaded: LoadedGraph, keeper: SnapshotKeeper
    ) -> Verdict:
        """Returns the verdict of the selected rule."""
        given = self._input(request, plan, loaded, keeper)
        self._history.expect(request.text, expected_seconds(given))
        return RULES[self._planner](given)

    def described(
        self, request: Request, plan: QueryPlan, loaded: LoadedGraph, keeper: SnapshotKeeper
    ) -> tuple[str, ...]:
        """Verdicts of all rules, one line per rule."""
        given = self._input(request, plan, loaded, keeper)
        return tuple(route_text([rule(given) for rule in RULES.values()], self._planner))

    def physical(self, request: Request, plan: QueryPlan) -> PhysicalPlan:
        """The operators of a plan, at the rates of device and server."""
        return plan.physical(self._device.rates, self._rates_of_server(), request.values)

    def streamed(self, plan: QueryPlan, loaded: LoadedGraph) -> tuple[str, ...]:
        """Lines about data to be sent in segments, and about counts by vectors."""
        return self._device.lines(plan, loaded.graph)

    def record_device(self, request: Request, loaded: LoadedGraph, seconds: float) -> None:
        """Records how long the device took."""
        self._history.add_device(request.text, seconds)

    def record_given_up(self, text: str, seconds: float) -> None:
        """Records that the device had not finished a text after these seconds."""
        self._history.add_given_up(text, seconds)

    def record_native_given_up(self, text: str, seconds: float) -> None:
        """Records that the database had not answered a text after these seconds."""
        self._history.add_native_given_up(text, seconds)

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
        self, request: Request, plan: QueryPlan, loaded: LoadedGraph, keeper: SnapshotKeeper
    ) -> RouteInput:
        graph = loaded.graph
        physical = self.physical(request, plan)
        observed = self._history.observed(request.text)
        return RouteInput(
            physical,
            plan.shape,
            graph.relationship_count,
            entities_known=graph.node_properties.complete
            and graph.relationship_properties.complete,
            observed=observed,
            probes=1 if keeper.freshness.policy == "strict" else 0,
            once=self._device.opening_seconds(graph),
            first=0.0 if observed.device_runs else physical.first_seconds,
            sent_bytes=self._device.sent_bytes(plan, graph),
        )

    def _rates_of_server(self) -> ServerRates:
        if self._server_rates is None:
            self._server_rates = kept_server_rates(self._server.facts) or LOCAL_SERVER
        return self._server_rates
