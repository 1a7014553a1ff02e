"""Writing a graph into a fake database that records statements."""

from types import SimpleNamespace

import pytest
from fake_bench_database import FakeGraphDatabase

from gpugda.bench.load_graph import create_indexes, drop_indexes, load_into, remove_written
from gpugda.errors import ConfigurationError
from gpugda.ports import SilentProgress


class FakeDatabase:
    """Keeps counts of nodes and relationships, and gives ids to created ones."""

    def __init__(self, nodes=(), relationships=()):
        self.nodes, self.relationships = dict(nodes), dict(relationships)
        self.rows, self.statements = [], []

    def run(self, text, parameters=None, *, engine):
        assert engine == "native"
        self.statements.append(text)
        return SimpleNamespace(values=lambda: self.answer(text, parameters or {}))

    def answer(self, text, parameters):
        if text.startswith("MATCH (n) RETURN labels"):
            return [[labels.split(":") if labels else [], n] for labels, n in self.nodes.items()]
        if text.startswith("MATCH ()-[r]->()"):
            return [list(pair) for pair in self.relationships.items()]
        if "CREATE (n" in text:
            labels = ":".join(sorted(text.partition("(n")[2].partition(")")[0].split(":")[1:]))
            self.nodes[labels.replace("`", "")] = len(parameters["rows"])
            self.rows += parameters["rows"]
            return [[f"id of {row['name']}"] for row in parameters["rows"]]
        if "CREATE (a)" in text:
            name = text.partition("[r:`")[2].partition("`")[0]
            self.relationships[name] = len(parameters["rows"])
            self.rows += parameters["rows"]
        if text.startswith("SHOW INDEXES"):
            return [["gpugda_bench_0"], ["mine"]]
        return []


def test_an_empty_database_is_filled(ring):
    database = FakeDatabase()
    assert load_into(database, ring, "ring", SilentProgress())
    assert database.nodes == {"A": 3, "A:B": 3}
    assert database.relationships == {"NEXT": 6, "BACK": 6, "ACROSS": 2, "SELF": 1}
    assert {"name": "n3", "size": 3} in database.rows
    assert ["id of n0", "id of n3", {}] in database.rows


def test_an_equal_graph_is_not_written_again(ring):
    types = {"NEXT": 6, "BACK": 6, "ACROSS": 2, "SELF": 1}
    database = FakeDatabase({"A": 3, "A:B": 3}, types)
    assert not load_into(database, ring, "ring", SilentProgress())
    assert not any("CREATE" in text for text in database.statements)


@pytest.mark.parametrize(
    ("nodes", "types"),
    [({"A": 1}, {}), ({"A": 3, "A:B": 3}, {"NEXT": 6}), ({"A": 6}, {"NEXT": 6, "BACK": 6})],
)
def test_a_database_with_other_data_is_refused(ring, nodes, types):
    database = FakeDatabase(nodes, types)
    with pytest.raises(ConfigurationError, match="Nothing was written"):
        load_into(database, ring, "ring", SilentProgress())
    assert not any("CREATE" in text for text in database.statements)


def test_indexes_are_created_for_each_label_and_key(ring):
    database = FakeDatabase()
    assert create_indexes(database, ring) == 4  # A and B, name and size
    assert any("FOR (n:`B`) ON (n.`size`)" in text for text in database.statements)


def test_only_our_indexes_are_dropped():
    database = FakeDatabase()
    drop_indexes(database)
    dropped = [text for text in database.statements if text.startswith("DROP")]
    assert dropped == ["DROP INDEX `gpugda_bench_0` IF EXISTS"]


def test_indexes_of_an_earlier_run_give_way(ring):
    database = FakeGraphDatabase()
    database.indexes = {"gpugda_bench_0": ("Other", "key"), "mine": ("A", "x")}
    create_indexes(database, ring)
    assert ("A", "name") in database.indexes.values()
    assert ("Other", "key") not in database.indexes.values()
    assert database.indexes["mine"] == ("A", "x")


def test_what_another_client_wrote_is_not_removed(ring):
    database = FakeGraphDatabase()
    written = load_into(database, ring, "ring", SilentProgress())
    foreign = database.create("Mine")
    remove_written(database, written, "ring")
    assert database.nodes == {foreign: ("Mine",)}
    assert database.relationships == {}


def test_nodes_to_which_another_client_wrote_relationships_stay(ring):
    database = FakeGraphDatabase()
    written = load_into(database, ring, "ring", SilentProgress())
    first, second = written.nodes[:2]
    foreign = database.create("Mine")
    theirs = [database.join(foreign, "SEES", first), database.join(first, "SEES", second)]
    with pytest.raises(ConfigurationError, match=r"2 nodes .*'ring' stay.* Nothing was removed"):
        remove_written(database, written, "ring")
    assert set(database.nodes) == {foreign, first, second}
    assert list(database.relationships) == theirs


def test_a_load_that_ends_early_says_what_it_leaves(ring, caplog):
    with pytest.raises(OSError, match="gone"):
        load_into(FakeGraphDatabase("CREATE (a)"), ring, "ring", SilentProgress())
    assert "the graph 'ring' ended early: the database may hold a part of it" in caplog.text
