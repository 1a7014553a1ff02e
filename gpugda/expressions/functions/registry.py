"""Definitions of functions and aggregates: signatures for the compiler, and evaluation."""

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
    """Argument and result types of a function.

    Attributes:
        minimum: Fewest arguments.
        maximum: Most arguments; None if there is no limit.
        arguments: Allowed kinds by position; the last entry applies to all further positions.
        result: Possible kinds of the result.
    """

    minimum: int
    maximum: int | None
    arguments: tuple[Kinds, ...]
    result: Kinds

    def refusal(self, given: Sequence[Kinds | None]) -> str | None:
        """The reason why arguments of these kinds do not compile; None if they do.

        Args:
            given: Possible kinds of each argument, as far as the compiler knows; None if unknown.
                Null alone is the empty set.
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
    """The allowed kinds; includes integers where floats are allowed, since Neo4j converts them."""
    return allowed | {"integer"} if "float" in allowed else allowed


def signature(text: str, optional: int = 0, *, repeat: bool = False) -> Signature:
    """Parses a signature such as ``string, integer -> string``.

    Args:
        text: Kinds by position, as `kinds` parses them, then the result's.
        optional: Number of trailing arguments that may be omitted.
        repeat: True if the last argument may occur any number of times.
    """
    before, _, result = text.partition("->")
    places = tuple(kinds(part) for part in before.split(",") if part.strip())
    most = None if repeat else len(places)
    return Signature(len(places) - optional, most, places, kinds(result))


@value(frozen=True, slots=True)
class Function:
    """A function of single values.

    Attributes:
        name: Neo4j's spelling, with namespaces: ``duration.inDays``.
        evaluate: Computes the result from the arguments, preceded by a `Context` if ``contextual``
            is set. It raises a `QueryError` with Neo4j's code, without a position in the text.
        null_in_null_out: True if any null argument gives null; ``evaluate`` then never sees one.
        deterministic: True if equal arguments give equal results in all rows of a query.
        contextual: True if it reads the clock, entities or random numbers.
        exact: True if even the last digit of a float result equals Neo4j's. Java allows many
            functions to differ in it, and they do between its versions and processors.
        cypher_versions: Versions of Cypher that have the function.
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
        """The result for these arguments.

        Raises:
            QueryError: As in Neo4j at run time, or at compile time for a wrong argument count.
        """
        if len(arguments) < self.signature.minimum or (
            self.signature.maximum is not None and len(arguments) > self.signature.maximum
        ):
            why = self.signature.refusal([None] * len(arguments))
            raise CypherSyntaxError(f"{self.name}() cannot be called like this: {why}")
        if self.null_in_null_out and any(argument is None for argument in arguments):
            return None
        if self.contextual:
            return self.evaluate(context, *arguments)
        return self.evaluate(*arguments)


@value(frozen=True, slots=True)
class Aggregate:
    """An aggregate over the values of a group.

    Attributes:
        name: Neo4j's spelling.
        start: Creates a state from the further arguments (the percentile), which are constant.
        step: Returns the state after a non-null value. It may modify the state in place.
        finish: Returns the result of the state.
    """

    name: str
    signature: Signature
    start: Callable[..., Any]
    step: Callable[[Any, Any], Any]
    finish: Callable[[Any], Any]
    cypher_versions: frozenset[int] = BOTH_VERSIONS

    def fold(self, items: Iterable[Any], *further: Any, distinct: bool = False) -> Any:
        """The result over all values of a group; ignores nulls, as all aggregates do."""
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
    """What the compiler knows about a literal: its kind; nothing for null."""
    return frozenset() if item is None else frozenset((kind_of_value(item),))
