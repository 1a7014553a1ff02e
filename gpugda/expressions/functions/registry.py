"""What a function and an aggregate are: what a compiler checks, and how they are evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherSyntaxError
from gpugda.expressions.kinds import ANY, Kinds, kind_of_value, kinds
from gpugda.types import value
from gpugda.values import group_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gpugda.expressions.context import Context

__all__ = [
    "BOTH_VERSIONS",
    "CYPHER_25",
    "Aggregate",
    "Function",
    "Signature",
    "known_kinds",
    "signature",
]

BOTH_VERSIONS = frozenset((5, 25))
CYPHER_25 = frozenset((25,))


@value(frozen=True, slots=True)
class Signature:
    """What may be written between the brackets, and what comes out.

    Attributes:
        minimum: The fewest arguments.
        maximum: The most arguments; None if there is no limit.
        arguments: Kinds by place; the last stands for all further places.
        result: Kinds of the result.
    """

    minimum: int
    maximum: int | None
    arguments: tuple[Kinds, ...]
    result: Kinds

    def refusal(self, given: Sequence[Kinds | None]) -> str | None:
        """Why arguments of these kinds do not compile; None if they do.

        Args:
            given: Kinds that each argument may have, as far as a compiler knows; None where it
                knows nothing. Null alone is the empty set.
        """
        if len(given) < self.minimum or (self.maximum is not None and len(given) > self.maximum):
            return f"it takes {self._count()}, not {len(given)}"
        for place, known in enumerate(given):
            allowed = self.arguments[min(place, len(self.arguments) - 1)] if self.arguments else ANY
            if known and not known & _widened(allowed):
                wanted = " or ".join(sorted(allowed))
                return f"argument {place + 1} must be {wanted}, not {' or '.join(sorted(known))}"
        return None

    def _count(self) -> str:
        if self.maximum is None:
            return f"at least {self.minimum} arguments"
        if self.minimum == self.maximum:
            return f"{self.minimum} argument{'' if self.minimum == 1 else 's'}"
        return f"{self.minimum} to {self.maximum} arguments"


def _widened(allowed: Kinds) -> Kinds:
    """Neo4j makes a float of an integer where a float is wanted."""
    return allowed | {"integer"} if "float" in allowed else allowed


def signature(text: str, optional: int = 0, *, repeat: bool = False) -> Signature:
    """A signature of a text such as ``string, integer -> string``.

    Args:
        text: Kinds by place, as `kinds` reads them, then the result's.
        optional: How many of the last arguments may be left out.
        repeat: The last argument may stand any number of times.
    """
    before, _, result = text.partition("->")
    places = tuple(kinds(part) for part in before.split(",") if part.strip())
    most = None if repeat else len(places)
    return Signature(len(places) - optional, most, places, kinds(result))


@value(frozen=True, slots=True)
class Function:
    """A function of single values.

    Attributes:
        name: As Neo4j writes it, with its namespaces: ``duration.inDays``.
        evaluate: The arguments' values to the result, a `Context` before them if ``contextual``.
            It raises a `QueryError` with Neo4j's code, without a place in the text.
        null_in_null_out: Any null argument makes null, and ``evaluate`` never sees one.
        deterministic: Equal arguments give equal results, in every row of a query.
        contextual: It reads the clock, entities or chance.
        exact: The last digit of a float is Neo4j's, too. Java lets many functions differ in it,
            and they do between its versions and processors.
        cypher_versions: Those that have it.
    """

    name: str
    signature: Signature
    evaluate: Callable[..., Any]
    null_in_null_out: bool = True
    deterministic: bool = True
    contextual: bool = False
    exact: bool = True
    cypher_versions: frozenset[int] = BOTH_VERSIONS

    def __call__(self, context: Context, arguments: Sequence[Any]) -> Any:
        """The value for these arguments.

        Raises:
            QueryError: As Neo4j at run time, or at compile time where their number is wrong.
        """
        if len(arguments) < self.signature.minimum or (
            self.signature.maximum is not None and len(arguments) > self.signature.maximum
        ):
            why = self.signature.refusal([None] * len(arguments))
            raise CypherSyntaxError(f"{self.name}() cannot be called so: {why}")
        if self.null_in_null_out and any(argument is None for argument in arguments):
            return None
        if self.contextual:
            return self.evaluate(context, *arguments)
        return self.evaluate(*arguments)


@value(frozen=True, slots=True)
class Aggregate:
    """A function of all values of a group.

    Attributes:
        name: As Neo4j writes it.
        start: A new state; it is given the further arguments (the percentile), which are constant.
        step: The state after a value that is not null. It may change the state in place.
        finish: The state's result.
    """

    name: str
    signature: Signature
    start: Callable[..., Any]
    step: Callable[[Any, Any], Any]
    finish: Callable[[Any], Any]
    cypher_versions: frozenset[int] = BOTH_VERSIONS

    def fold(self, items: Iterable[Any], *further: Any, distinct: bool = False) -> Any:
        """The result over all values of a group; nulls are left out, as for all aggregates."""
        state, seen = self.start(*further), set()
        for item in items:
            if item is None:
                continue
            if distinct:
                key = group_key(item)
                if key in seen:
                    continue
                seen.add(key)
            state = self.step(state, item)
        return self.finish(state)


def known_kinds(item: Any) -> Kinds:
    """What a compiler knows of a literal: its kind, nothing of null."""
    return frozenset() if item is None else frozenset((kind_of_value(item),))
