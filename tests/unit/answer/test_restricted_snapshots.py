"""A snapshot of part of a database answers queries within that part, and refuses others."""

import pytest
from fake_server import FakeServer

import gpugda
from gpugda.cli.snapshot import print_info
from gpugda.ports import Projection
from gpugda.snapshot.manifest import read_manifest

NODES = {
    3: (("Person",), {"name": "Ann"}),
    8: (("Person",), {"name": "Bo"}),
}
RELATIONSHIPS = {21: (3, 8, "KNOWS", {})}
WITHIN = "MATCH (a:Person)-[:KNOWS]->(b:Person) RETURN a.name"
OUTSIDE = [
    "MATCH (a:City) RETURN count(*)",
    "MATCH (a) RETURN count(*)",
    "MATCH (a:Person)-->(b:Person) RETURN count(*)",
    "MATCH (a:Person)-[:KNOWS]->(b) RETURN count(*)",
]


@pytest.fixture
def saved(tmp_path):
    part = Projection(labels=("Person",), types=("KNOWS",))
    server = FakeServer(NODES, RELATIONSHIPS, projection=part)
    with gpugda.connect(server, cache=False) as live:
        live.save(tmp_path / "part")
    return tmp_path / "part"


@pytest.mark.parametrize("text", OUTSIDE)
@pytest.mark.parametrize("engine", ["auto", "gpu", "reference"])
def test_queries_outside_the_part_are_refused(saved, text, engine):
    with (
        gpugda.connect(saved) as opened,
        pytest.raises(gpugda.UnsupportedQueryError, match=r"restricted to the (labels|types)"),
    ):
        opened.run(text, engine=engine)


@pytest.mark.parametrize("call", ["explain", "estimate", "try_device"])
def test_plans_outside_the_part_are_refused(saved, call):
    with gpugda.connect(saved) as opened:
        with pytest.raises(gpugda.UnsupportedQueryError, match="restricted"):
            getattr(opened, call)(OUTSIDE[0])
        with pytest.raises(gpugda.UnsupportedQueryError, match="restricted"):
            opened.run(f"EXPLAIN {OUTSIDE[0]}")


def test_queries_within_the_part_are_answered(saved):
    with gpugda.connect(saved) as opened:
        assert opened.run(WITHIN).values() == [["Ann"]]
        assert opened.explain(WITHIN)


def test_a_copy_of_a_restricted_snapshot_is_restricted(saved, tmp_path):
    with gpugda.connect(saved) as opened:
        opened.save(tmp_path / "copy", compression="lz4")
    assert read_manifest(tmp_path / "copy").projection == Projection(("Person",), ("KNOWS",))
    with gpugda.connect(tmp_path / "copy") as copied, pytest.raises(gpugda.UnsupportedQueryError):
        copied.run(OUTSIDE[0])


def test_an_empty_part_is_not_the_whole_graph(tmp_path):
    server = FakeServer(NODES, {}, projection=Projection(None, ()))
    with gpugda.connect(server, cache=False) as live:
        live.save(tmp_path / "none")
    assert read_manifest(tmp_path / "none").projection == Projection(None, ())
    with gpugda.connect(tmp_path / "none") as opened:
        assert opened.run("MATCH (a:Person) RETURN count(*)").single().value() == 2
        with pytest.raises(gpugda.UnsupportedQueryError, match="restricted to the types"):
            opened.run("MATCH ()-->() RETURN count(*)")


def test_snapshot_info_names_the_part(saved, capsys):
    print_info(str(saved))
    assert "only labels Person and types KNOWS; queries outside" in capsys.readouterr().out


def test_snapshot_info_of_a_whole_graph_names_no_part(tmp_path, capsys):
    with gpugda.connect(FakeServer(NODES, RELATIONSHIPS), cache=False) as live:
        live.save(tmp_path / "whole")
    print_info(str(tmp_path / "whole"))
    assert "the whole graph" in capsys.readouterr().out
