"""All strategies, and their variants without some of the papers' techniques."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from gpugda_strategies.gsi.options import ablation_steps
from gpugda_strategies.gsi.strategy import GsiStrategy
from gpugda_strategies.pbe.options import pbe_variants
from gpugda_strategies.pbe.strategy import PbeStrategy
from gpugda_strategies.sgsi.options import sgsi_variants
from gpugda_strategies.sgsi.strategy import SgsiStrategy

from gpugda.errors import ConfigurationError
from gpugda.match.registry import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gpugda.match.matcher import Matcher
    from lab.recipes import Recipe

__all__ = ["MatcherMaker", "chosen_matchers"]

_PARTITIONS = 4
"""Number of partitions in the paper's ablation of PBE."""
MatcherMaker: TypeAlias = "Callable[..., Matcher]"
"""Makes a strategy with its options for a graph on a device, and a ``memory_limit``."""


def chosen_matchers(recipe: Recipe, only: Sequence[str]) -> Mapping[str, MatcherMaker]:
    """Strategies and variants by name: those of ``only``, or all.

    The variants are those of GSI and SGSI, or of PBE if the graph is from its paper.

    Raises:
        ConfigurationError: There is no strategy with one of the names.
    """
    found: dict[str, MatcherMaker] = {**STRATEGIES}
    if recipe.patterns is not None:
        for name, options in pbe_variants(_PARTITIONS).items():
            found[f"pbe {name}"] = partial(PbeStrategy, options=options)
    else:
        for name, techniques in ablation_steps().items():
            found[f"gsi {name}"] = partial(GsiStrategy, options=techniques)
        for name, balance in sgsi_variants().items():
            found[f"sgsi {name}"] = partial(SgsiStrategy, options=balance)
    unknown = [each for each in only if each not in found]
    if unknown:
        raise ConfigurationError(f"--strategy is {unknown[0]!r}; there are: {', '.join(found)}.")
    return {name: maker for name, maker in found.items() if not only or name in only}
