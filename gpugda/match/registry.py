"""All strategies by name. A new one is one line here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from gpugda.errors import ConfigurationError
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.gpsm.strategy import GpsmStrategy
from gpugda.match.gsi.strategy import GsiStrategy
from gpugda.match.need import Groups, Rows
from gpugda.match.pbe.strategy import PbeStrategy
from gpugda.match.report import oriented_text
from gpugda.match.sgsi.strategy import SgsiStrategy
from gpugda.match.stwig.strategy import StwigStrategy
from gpugda.plan.matching_order import make_plan
from gpugda.plan.rules.orient import orient

if TYPE_CHECKING:
    from gpugda.data.statistics import GraphStatistics
    from gpugda.match.matcher import Matcher
    from gpugda.match.need import Need
    from gpugda.plan.plan import BoundQuery, Plan

__all__ = ["DEFAULT_STRATEGY", "STRATEGIES", "find_matcher", "plan_pattern"]

_MATCHERS: Final[tuple[type[Matcher], ...]] = (
    ExtendStrategy,
    GpsmStrategy,
    GsiStrategy,
    SgsiStrategy,
    StwigStrategy,
    PbeStrategy,
)

STRATEGIES: Final = {each.name: each for each in _MATCHERS}
"""The default comes first."""

DEFAULT_STRATEGY: Final = _MATCHERS[0].name


def find_matcher(name: str | None = None) -> type[Matcher]:
    """The strategy of this name, the default one without.

    Raises:
        ConfigurationError: There is none; the error names those that exist.
    """
    found = STRATEGIES.get(DEFAULT_STRATEGY if name is None else name)
    if found is None:
        names = ", ".join(map(repr, STRATEGIES))
        raise ConfigurationError(f"strategy is {name!r}; it can be {names}.")
    return found


def plan_pattern(
    pattern: BoundQuery, statistics: GraphStatistics, strategy: str, need: Need
) -> Plan:
    """The plan of a pattern for a strategy; it says so where the strategy cannot run it.

    Raises:
        ConfigurationError: There is no strategy of this name.
    """
    matcher = find_matcher(strategy)
    return make_plan(
        pattern,
        statistics,
        strategy,
        "; ".join(filter(None, [matcher.method, matcher.said_of_sizes(pattern)])),
        compares=matcher.compares,
        declined=matcher.can_match(pattern, need) or "",
        find_steps=matcher.plan_steps,
        say_first=partial(_said_first, matcher, need, statistics.loop_counts),
    )


def _said_first(
    matcher: type[Matcher], need: Need, loop_counts: tuple[int, ...], pattern: BoundQuery
) -> str:
    said = [matcher.said_first(pattern, need=need)]
    grouped = need.nodes if isinstance(need, Groups) else ()
    counts = matcher.orients and not isinstance(need, Rows)
    found = orient(pattern, loop_counts, grouped) if counts else None
    if found is not None:
        said.append(
            "once such counts took as long as turning the relationships is expected to take, "
            + oriented_text(pattern, found)
        )
    return "; ".join(filter(None, said))
