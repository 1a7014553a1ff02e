"""All strategies by name: the default one, and those that packages add by entry point."""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import lru_cache, partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final

from gpugda.errors import ConfigurationError
from gpugda.match.engine import Engine
from gpugda.match.need import Groups, Rows, asks_for_one_node
from gpugda.match.report import oriented_text, witnesses_text
from gpugda.plan.join.matching_order import make_plan
from gpugda.plan.pattern.orient import orient
from gpugda.plan.pattern.symmetry import exchangeable_sets
from gpugda.plan.pattern.witness_order import has_large_core

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.metadata import EntryPoint

    from gpugda.data.statistics.graph_statistics import (
        GraphStatistics,
    )
    from gpugda.match.matcher import Matcher
    from gpugda.match.need import Need
    from gpugda.plan.pattern.orient import OrientedQuery
    from gpugda.plan.plan import BoundQuery, Plan

__all__ = ["DEFAULT_STRATEGY", "STRATEGIES", "find_matcher", "oriented_query", "plan_pattern"]

DEFAULT_STRATEGY: Final = "extend"
_GROUP: Final = "gpugda.strategies"


@lru_cache(maxsize=1)
def _installed() -> Mapping[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=_GROUP))}


class _Strategies(MutableMapping[str, "type[Matcher]"]):
    """Classes by name, each loaded on first use, because most programs use only one."""

    def __init__(self) -> None:
        self._loaded: dict[str, type[Matcher]] = {}

    def __getitem__(self, name: str) -> type[Matcher]:
        if name not in self._loaded:
            self._loaded[name] = _load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, matcher: type[Matcher]) -> None:
        self._loaded[name] = matcher

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([DEFAULT_STRATEGY, *_installed(), *self._loaded]))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _load(name: str) -> type[Matcher]:
    if name == DEFAULT_STRATEGY:
        from gpugda.match.extend.strategy import ExtendStrategy

        return ExtendStrategy
    found: type[Matcher] = _installed()[name].load()
    return found


STRATEGIES: Final = _Strategies()
"""The first one is the default."""


def find_matcher(name: str | None = None) -> type[Matcher]:
    """The strategy with this name, or the default one.

    Raises:
        ConfigurationError: No such strategy is installed; the error names those that are.
    """
    found = STRATEGIES.get(DEFAULT_STRATEGY if name is None else name)
    if found is None:
        names = ", ".join(map(repr, STRATEGIES))
        raise ConfigurationError(f"No strategy named {name!r} is installed; there are: {names}.")
    return found


def plan_pattern(
    pattern: BoundQuery, statistics: GraphStatistics, strategy: str, need: Need
) -> Plan:
    """The plan of a pattern for a strategy. It states the reason if the strategy cannot run it.

    Raises:
        ConfigurationError: There is no strategy with this name.
    """
    matcher = find_matcher(strategy)
    return make_plan(
        pattern,
        statistics,
        strategy,
        "; ".join(filter(None, [matcher.method, matcher.sizes_text(pattern)])),
        compares=matcher.compares,
        declined=matcher.can_match(pattern, need) or "",
        find_steps=matcher.plan,
        describe_first=partial(_first_attempt_text, matcher, need, statistics.loop_counts),
    )


def _first_attempt_text(
    matcher: type[Matcher], need: Need, loop_counts: tuple[int, ...], pattern: BoundQuery
) -> str:
    said = [matcher.first_attempt_text(pattern, need=need)]
    if matcher.compares and asks_for_one_node(need) and has_large_core(pattern):
        sets = exchangeable_sets(pattern, need.nodes)
        return "; ".join(filter(None, [*said, witnesses_text(pattern, need.nodes[0], sets)]))
    found = oriented_query(pattern, loop_counts, need) if issubclass(matcher, Engine) else None
    if found is not None:
        what = "rows" if found.as_rows else "counts"
        said.append(
            f"once such {what} have taken as long as orienting the graph is expected to take, "
            + oriented_text(pattern, found)
        )
    return "; ".join(filter(None, said))


def oriented_query(
    bound: BoundQuery, loop_counts: tuple[int, ...], need: Need
) -> OrientedQuery | None:
    """The query to run in the oriented graph instead; None if orientation does not apply.

    Args:
        bound: The pattern.
        loop_counts: Number of self-loops in the graph, per type id.
        need: What the caller needs.
    """
    if isinstance(need, Rows):
        return None if need.relationships else orient(bound, loop_counts, as_rows=True)
    if not isinstance(need, Groups):
        return orient(bound, loop_counts)
    by_places = orient(bound, loop_counts, need.nodes)
    if by_places is not None:
        return by_places
    # If all nodes of each set are grouping keys, the groups of one order give those of the others.
    found = orient(bound, loop_counts, need.nodes, as_rows=True)
    if found is None or any(not set(need.nodes).issuperset(nodes) for nodes in found.sets):
        return None
    return found
