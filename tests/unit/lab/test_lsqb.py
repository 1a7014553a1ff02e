"""LSQB: the generated graph, the nine queries, and the command."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import gpugda
from gpugda.errors import ConfigurationError
from lab.child import Answer
from lab.lsqb import LsqbOutcome
from lab.lsqb_engines import SocialSource
from lab.lsqb_queries import LSQB
from lab.social_network import SIZES, social_network

TINY = 0.001


def test_the_graph_has_the_published_sizes_and_labels():
    graph = social_network(0.01)
    assert graph.node_count == graph.labels["Comment"][1] == pytest.approx(0.01 * 4e6, rel=0.1)
    assert graph.relationship_count == pytest.approx(0.01 * 18e6, rel=0.15)
    assert graph.labels["Person"][1] - graph.labels["Person"][0] == SIZES["Person"] // 100
    for (_, start, end), (source, target) in graph.ends.items():
        for label, nodes in ((start, source), (end, target)):
            first, last = graph.labels[label]
            assert len(nodes) == 0 or (nodes.min() >= first and nodes.max() < last)


def test_the_same_seed_gives_the_same_graph():
    one, two, other = social_network(TINY), social_network(TINY), social_network(TINY, seed=2)
    for key, (source, target) in one.ends.items():
        assert np.array_equal(source, two.ends[key][0])
        assert np.array_equal(target, two.ends[key][1])
    assert not np.array_equal(one.of_type("HAS_CREATOR")[1], other.of_type("HAS_CREATOR")[1])


def test_friendships_are_distinct_and_messages_have_one_author():
    graph = social_network(TINY)
    low, high = graph.of_type("KNOWS")
    assert (low < high).all()
    assert len(np.unique(np.column_stack([low, high]), axis=0)) == len(low)
    message, _ = graph.of_type("HAS_CREATOR")
    assert np.array_equal(message, np.arange(graph.labels["Post"][0], graph.labels["Comment"][1]))
    reply, parent = graph.of_type("REPLY_OF")
    assert len(np.unique(reply)) == len(reply)
    assert (parent < reply).all()  # no reply is older than what it answers


@pytest.mark.parametrize("scale", [0, -1, 101])
def test_a_scale_out_of_range_is_refused(scale):
    with pytest.raises(ConfigurationError, match="scale"):
        social_network(scale)


@pytest.mark.slow
@pytest.mark.device
def test_the_device_and_the_reference_count_the_same():
    accelerator = gpugda.connect(SocialSource(0.0005), cache=False)
    for query in LSQB:
        found = accelerator.run(query.cypher, engine="gpu").values()
        assert found == accelerator.run(query.cypher, engine="reference").values(), query.name
        assert found[0][0] > 0, query.name


@pytest.mark.device
@pytest.mark.slow
def test_the_command_counts_with_all_engines(tmp_path):
    from lab.__main__ import app

    arguments = ["lsqb", "--scale", "0.001", "--repetitions", "1"]
    run = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)])
    assert run.exit_code == 0, run.output
    facts = json.loads((tmp_path / "lsqb.json").read_text(encoding="utf-8"))
    assert facts["wrong"] == []
    assert {each["query"] for each in facts["runs"]} == {query.name for query in LSQB}
    assert "| sum |" in (tmp_path / "lsqb.md").read_text(encoding="utf-8")
    assert "| q9 |" in run.stdout


def test_a_different_count_is_reported_as_wrong():
    same = {(query.name, "gpugda"): [Answer("ok", 1, 0.1)] for query in LSQB}
    other = {("q3", "duckdb"): [Answer("ok", 2, 0.1)], ("q4", "duckdb"): [Answer("ok", 1, 0.1)]}
    outcome = LsqbOutcome(("gpugda", "duckdb"), same | other, [])
    assert outcome.wrong == ["q3"]
