"""The openCypher TCK's queries: those expected to compile parse, ungrammatical ones do not."""

import importlib.util
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from gpugda.errors import CypherSyntaxError
from gpugda.query.parser import parse

SHARED = Path(os.environ.get("GPUGDA_SHARED", Path(__file__).parents[4] / "shared"))
TCK = SHARED / "tck" / "tck.py"

# These errors depend on names, types or the schema, so the parser cannot find them.
SEMANTIC = {
    "AmbiguousAggregationExpression",
    "ColumnNameConflict",
    "CreatingVarLength",
    "DifferentColumnsInUnion",
    "InvalidAggregation",
    "InvalidArgumentPassingMode",
    "InvalidArgumentType",
    "InvalidDelete",
    "InvalidNumberOfArguments",
    "NegativeIntegerArgument",
    "NestedAggregation",
    "NoSingleRelationshipType",
    "NoVariablesInScope",
    "NonConstantExpression",
    "RelationshipUniquenessViolation",
    "RequiresDirectedRelationship",
    "UndefinedVariable",
    "UnknownFunction",
    "VariableAlreadyBound",
    "VariableTypeConflict",
}

# Syntax errors by name, but accepted here, each with its reason.
READ_ANYHOW = {
    "expressions/list/List6 [6]": "which function may take a path is not a matter of grammar",
    "expressions/pattern/Pattern1 [22]": "where a path may stand is a matter of its type",
    "expressions/pattern/Pattern1 [23]": "where a path may stand is a matter of its type",
    "expressions/pattern/Pattern1 [24]": "where a path may stand is a matter of its type",
    "clauses/call/Call5 [7]": "YIELD * depends on what else the query has",
}


@pytest.fixture(scope="module")
def scenarios():
    if not TCK.exists():
        pytest.skip(f"no openCypher TCK at {TCK}; set GPUGDA_SHARED to the folder above it")
    spec = importlib.util.spec_from_file_location("tck", TCK)
    module = importlib.util.module_from_spec(spec)
    sys.modules["tck"] = module  # its data classes look themselves up there
    spec.loader.exec_module(module)
    return module.load()


def refused(text):
    try:
        parse(text)
    except CypherSyntaxError as error:
        return str(error)
    return None


def test_every_valid_query_is_parsed(scenarios):
    wrongly = []
    read = 0
    for scenario in scenarios:
        queries = [*scenario.setup, *(control for control, _ in scenario.controls)]
        if not (scenario.error and scenario.error[0] == "SyntaxError"):
            queries.append(scenario.query)
        read += len(queries)
        wrongly += [(scenario.id, error) for text in queries if (error := refused(text))]
    assert wrongly == []
    assert read > 4000


def test_every_invalid_query_is_refused(scenarios):
    wrongly = []
    checked = Counter()
    for scenario in scenarios:
        if not (scenario.error and scenario.error[0] == "SyntaxError"):
            continue
        detail = scenario.error[2]
        if detail in SEMANTIC:
            continue
        checked[detail] += 1
        known = any(scenario.id.startswith(prefix) for prefix in READ_ANYHOW)
        if (refused(scenario.query) is None) is not known:
            wrongly.append((scenario.id, detail, scenario.query))
    assert wrongly == []
    assert sum(checked.values()) > 40
