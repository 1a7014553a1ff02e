"""Query texts of benchmark cases."""

from gpugda.bench.cases import cases_of
from gpugda.bench.random_queries import RandomQuery
from gpugda.bench.workload import _key
from tests.one_pattern import query_of

QUERY = RandomQuery(
    "dense",
    (("A", "an odd`label"), ()),
    ((0, "R", 1), (1, "S", 0)),
    4,
    (7, 8),
    (1, 2),
)


def texts(form, known=None, tag="t"):
    return [case.text(tag) for case in cases_of([QUERY], [known or {}], [form], 10)]


def test_the_count_form_returns_a_count():
    assert texts("count") == [
        "MATCH (nt_0:`A`:`an odd``label`)-[:`R`]->(nt_1), (nt_1)-[:`S`]->(nt_0) "
        "RETURN count(*) AS count"
    ]


def test_the_rows_form_has_the_same_columns_for_any_tag():
    (one,), (two,) = texts("rows"), texts("rows", tag="u")
    assert one != two
    assert one.endswith("RETURN nt_0 AS column_0, nt_1 AS column_1 LIMIT 10")
    assert [c.name for c in query_of(one).columns] == [c.name for c in query_of(two).columns]


def test_the_predicate_form_prefers_nodes_with_labels():
    known = {7: {"b": 1, "a": "x", "0": 2.5}, 8: {"a": 3}}
    (case,) = cases_of([QUERY], [known], ["predicate"], 10)
    assert "WHERE nt_0.`a` = $value RETURN" in case.text("t")
    assert case.parameters == {"value": "x"}


def test_the_predicate_form_needs_a_property():
    assert texts("predicate", {7: {"f": 0.5}}) == []


def test_the_key_of_a_predicate_is_read_from_its_text():
    (case,) = cases_of([QUERY], [{7: {"an `odd` key": 1}}], ["predicate"], 10)
    assert _key(case) == "an `odd` key"


def test_case_names_are_distinct():
    cases = cases_of([QUERY, QUERY], [{}, {}], ["count", "rows"], 10)
    assert len({case.name for case in cases}) == 4
    assert cases[0].name == "dense-2-4-001-count"
