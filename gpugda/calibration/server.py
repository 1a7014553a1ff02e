"""Measures a server's throughput with queries that read no user data."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from gpugda.calibration.kept import keep_server_rates, kept_server_rates
from gpugda.plan.cost import LOCAL_SERVER, ServerRates

if TYPE_CHECKING:
    from gpugda.ports import DatabaseServer

__all__ = ["calibrate_server", "server_rates"]

_ROUND_TRIPS = 15
_PLANS = 3
_ROWS = 50_000
_STEPS = 1_000_000
_PLANNED = 5 * 6  # nodes times relationships of the text below
_STEP_WEIGHT = 3.0
"""Expanding a relationship costs about this many of the timed steps (fitted once)."""


def server_rates(server: DatabaseServer, *, again: bool = False) -> ServerRates:
    """The rates of a server: stored ones, or measured now and then stored.

    Raises:
        SourceError, neo4j.exceptions.Neo4jError: The server cannot be queried.
    """
    rates = None if again else kept_server_rates(server.facts)
    if rates is None:
        rates = calibrate_server(server)
        keep_server_rates(server.facts, rates)
    return rates


def calibrate_server(server: DatabaseServer) -> ServerRates:
    """Measures the rates of a server: about a second of small reading queries.

    Raises:
        SourceError, neo4j.exceptions.Neo4jError: The server cannot be queried.
    """
    _timed(server, "RETURN 1")
    trip = statistics.median(_timed(server, "RETURN 1") for _ in range(_ROUND_TRIPS))
    planning = min(_timed(server, _unplanned()) for _ in range(_PLANS)) - trip
    rows_text = f"UNWIND range(1, {_ROWS}) AS i RETURN i, i + 1 AS j"
    _timed(server, rows_text)
    rows = _timed(server, rows_text) - trip
    steps_text = f"UNWIND range(1, {_STEPS}) AS i WITH i WHERE i % 7 = 3 RETURN count(i)"
    _timed(server, steps_text)
    steps = _timed(server, steps_text) - trip
    per_row = max(rows, 1e-4) / _ROWS
    return ServerRates(
        round_trip_seconds=trip,
        planning_seconds=max(planning, 1e-4) / (1 + _PLANNED),
        expansions_per_second=_STEPS / _STEP_WEIGHT / max(steps, 1e-4),
        rows_per_second=1 / per_row,
        entities_per_second=LOCAL_SERVER.entities_per_second
        / LOCAL_SERVER.rows_per_second
        / per_row,
    )


def _unplanned() -> str:
    """A query text that the server has never planned; EXPLAIN only plans it."""
    tag = f"x{time.perf_counter_ns():x}"
    path = "-->".join(f"({tag}{i})" for i in range(5))
    return f"EXPLAIN MATCH {path}, ({tag}0)-->({tag}3), ({tag}1)-->({tag}4) RETURN count(*)"


def _timed(server: DatabaseServer, text: str) -> float:
    started = time.perf_counter()
    server.run_native(text, {}, timeout=10.0, read_only=True)
    return time.perf_counter() - started
