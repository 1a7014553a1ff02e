from types import SimpleNamespace

from gpugda.bench.cases import Case
from gpugda.bench.findings import CaseTimes
from gpugda.bench.measuring import Measured, Mismatch, Run
from gpugda.bench.own_queries import own_queries
from gpugda.bench.report import _own

CASES = [Case(f"query-{n}", "", 1, 0, "own", ("MATCH (a) /*", f"*/ RETURN {n}")) for n in (1, 2)]


def times(case, phase, neo4j, ours):
    return CaseTimes(case, phase, {"native": neo4j, "auto": ours}, {"native": "ok", "auto": "ok"})


def test_each_query_has_a_row_of_times_ratio_engine_and_equality():
    found = SimpleNamespace(
        baseline="native",
        cases=(
            times(CASES[0], "new", 0.02, 0.0305),
            times(CASES[0], "repeated", 0.01, 0.002),
            times(CASES[1], "repeated", 0.001, 0.002),
            times(Case("q", "dense", 2, 1, "count", ("x",)), "repeated", 1.0, 1.0),
        ),
    )
    measured = Measured(
        runs=[Run("query-1", "repeated", "auto", 1, 0.002, "ok", answered_by="gpu")],
        mismatches=[Mismatch(CASES[1], "auto", "", "")],
        compared_by={("query-1", "auto"): "rows"},
        answers={"query-1": 7},
    )
    names, rows = own_queries(found, measured)
    assert names[2:6] == ("Neo4j ms", "first ms", "repeated ms", "ratio")
    assert rows == [
        ("MATCH (a) /**/ RETURN 1", 7, 10.0, 30.5, 2.0, 5.0, "gpu", "yes"),
        ("MATCH (a) /**/ RETURN 2", None, 1.0, None, 2.0, 0.5, "", "NO"),
    ]
    assert "| MATCH (a) /**/ RETURN 2 |  | 1.0 |  | 2.0 | 0.5 |  | NO |" in _own(found, measured)
