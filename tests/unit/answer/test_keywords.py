import inspect

import pytest

import gpugda
from gpugda.accelerator import Accelerator
from gpugda.answer.driver_query import _OF_CONNECT, OPTIONS, check_keywords

TEXT = "MATCH (n {name: $name, `a b`: $`a b`}) WHERE n.x <> '$quoted' RETURN n"


@pytest.fixture(scope="module")
def people():
    with gpugda.connect(gpugda.graph(nodes={"id": [1, 2], "name": ["Ann", "Bo"]})) as accelerator:
        yield accelerator


@pytest.mark.parametrize("names", [[], ["name"], ["a b", "name"]])
def test_keywords_named_in_the_query_are_parameters(names):
    check_keywords(TEXT, names)


def test_malformed_queries_are_left_to_the_parser():
    check_keywords("RETURN 'open", ["wrong"])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("timeuot", "did you mean 'timeout'?"),
        ("nam", "did you mean 'name'?"),
        ("memory_limit", "memory_limit is an argument of gpugda.connect()"),
        ("source", "source is an argument of gpugda.connect()"),
        ("label", "did you mean 'labels', an argument of gpugda.connect()?"),
        ("quoted", "as a mapping"),
    ],
)
def test_unknown_keywords_are_refused_with_a_hint(name, hint):
    with pytest.raises(gpugda.ConfigurationError) as caught:
        check_keywords(TEXT, ["name", name])
    assert f"run() has no argument {name!r}, and the query no parameter ${name}" in str(
        caught.value
    )
    assert hint in str(caught.value)
    assert "?." not in str(caught.value)


def test_the_options_are_those_of_the_functions():
    parameters = inspect.signature(Accelerator.run).parameters
    assert set(OPTIONS) == set(parameters) - {"self", "query", "kwparameters"}
    assert set(inspect.signature(gpugda.connect).parameters) >= set(_OF_CONNECT)


@pytest.mark.parametrize("name", ["memory_limit", "timout", "source", "label"])
def test_run_refuses_unknown_keywords(people, name):
    with pytest.raises(gpugda.ConfigurationError, match=name):
        people.run("MATCH (n) RETURN n.name", engine="reference", **{name: 1})
    builder = gpugda.QueryGraph.builder()
    builder.node("n")
    with pytest.raises(gpugda.ConfigurationError, match=name):
        people.run(builder.build(), engine="reference", **{name: 1})


def test_a_mapping_may_hold_unused_parameters(people):
    text = "MATCH (n {name: $name}) RETURN n.id"
    found = people.run(text, {"name": "Bo", "more": 1}, engine="reference")
    assert found.values() == [[2]]
    assert people.run(text, name="Bo", engine="reference").values() == [[2]]


def test_the_default_accelerator_refuses_unknown_keywords(monkeypatch):
    monkeypatch.setenv("GPUGDA_SOURCE", "sample:wordnet")
    with pytest.raises(gpugda.ConfigurationError, match="source is an argument of"):
        gpugda.run("MATCH (n) RETURN count(*)", source="bolt://localhost")
