"""Checks the options of a query's prefix, ``CYPHER name=value …``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from gpugda.errors import CypherSyntaxError

if TYPE_CHECKING:
    from gpugda.types import Span

__all__ = ["check_options"]

_DEBUG: Final = (
    "ast disableexistssubquerycaching disablepropertycaching generate_java_source graphviz"
    " inverse_cost logcostcomparisons logicalplan logicalplanbuilder logplanningsteps mermaid"
    " printcostcomparisons printidplog querygraph rawcardinalities renderdistinctness"
    " rendernestedplanexpressions semanticstate show_bytecode show_java_source tostring"
    " verboseeagernessreasons visualizepipelines warnoncompilationerrors"
)
_VALUES: Final = {
    name.lower(): (name, frozenset(values.split()))
    for name, values in {
        "connectComponentsPlanner": "greedy idp",
        "debug": _DEBUG,
        "eagerAnalyzer": "ir lp",
        "expressionEngine": "compiled interpreted only_when_hot",
        "inferSchemaParts": "most_selective_label off",
        "interpretedPipesFallback": "all disabled whitelisted_plans_only",
        "operatorEngine": "compiled interpreted",
        "parallelRuntimeSupport": "all disabled",
        "planVarExpandInto": "minimum_cost single_row",
        "planner": "cost dp idp",
        "replan": "force skip",
        "runtime": "interpreted legacy parallel pipelined slotted",
        "statefulShortestPlanningMode": "all_if_possible cardinality_heuristic into_only",
        "updateStrategy": "default eager",
    }.items()
}
"""Names as Neo4j shows them, and values other than ``default``, by names in small letters."""
_REPEATED: Final = "debug"
_INTERPRETERS: Final = ("interpreted", "legacy")
_WITHOUT_COMPILER: Final = {
    ("operatorengine", "compiled"): (*_INTERPRETERS, "slotted"),
    ("expressionengine", "compiled"): _INTERPRETERS,
    **{
        ("interpretedpipesfallback", value): (*_INTERPRETERS, "slotted")
        for value in _VALUES["interpretedpipesfallback"][1]
    },
    ("parallelruntimesupport", "disabled"): ("parallel",),
}
"""Options and the values of ``runtime`` that exclude them."""


def check_options(options: list[tuple[str, str]], text: str, span: Span) -> None:
    """Checks that Neo4j takes the options.

    Args:
        options: Names and values, as written.
        text: The query.
        span: The prefix in it.

    Raises:
        CypherSyntaxError: An option or a value is unknown, or two of them exclude each other.
    """
    chosen: dict[str, str] = {}
    unknown = []
    for name, written in options:
        key, value = name.lower(), written.lower()
        shown, values = _VALUES.get(key, (name, None))
        if values is None:
            unknown.append(name)
        elif value != "default" and value not in values:
            known = ", ".join(sorted(values))
            _fail(f"{written} is no value of the option {shown}: it can be {known}", text, span)
        elif key != _REPEATED and chosen.setdefault(key, value) != value:
            _fail(f"the option {shown} has two values: {chosen[key]} and {value}", text, span)
    if unknown:
        _fail(f"Neo4j has no such option: {', '.join(unknown)}", text, span)
    for option in chosen.items():
        runtime = chosen.get("runtime")
        if runtime in _WITHOUT_COMPILER.get(option, ()):
            shown = _VALUES[option[0]][0]
            _fail(f"{shown}={option[1]} and runtime={runtime} exclude each other", text, span)


def _fail(message: str, text: str, span: Span) -> NoReturn:
    raise CypherSyntaxError(message, text, span, gql_status="22000", kind="ArgumentError")
