"""Changes that the plugin recorded, and the gaps that it reports."""

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from fake_server import FACTS
from gpugda_adapters.bolt_bookmarks import bookmark_of, parse_bookmark
from gpugda_adapters.bolt_plugin import find_plugin
from gpugda_adapters.change_sources import ChangeSources
from gpugda_adapters.plugin_changes import PluginChanges
from neo4j.exceptions import Neo4jError, ServiceUnavailable

from gpugda.data.values.columns import to_values
from gpugda.ports import ChangeGap, DatabaseVersion

UUID = "cf87b189-b0fe-4098-835d-92493d9be7f7"


def numbers(*values):
    return np.array(values, dtype="<i8").tobytes()


def answer(**columns):
    """A row of gpugda.changes: transactions 11 and 13."""
    names = {"A": 4, "B": 9, "R": 2, "x": 7, "y": 1}
    return {
        "gap": "",
        "lasting": False,
        "last": 14,
        "transactions": numbers(11, 13),
        "counts": numbers(2, 0, 1, 1, 0, 2, 0, 0, 1, 2, 0, 1, 1, 0),
        "createdNodes": numbers(5, 6),
        "deletedNodes": numbers(6),
        "labels": numbers(5, 4, 3, -1 - 9, 5, 9),
        "createdRelationships": numbers(8, 5, 3, 2),
        "deletedRelationships": numbers(2, 3, 3, 2),
        "nodeProperties": numbers(5, -1 - 7, 6, -1 - 7, 3, 1),
        "relationshipProperties": numbers(),
        "nodeValues": ["text", 1],
        "relationshipValues": [],
        "nodeKeys": ["x"],
        "relationshipKeys": [],
        "names": names,
        **columns,
    }


class Connection:
    """A fake connection that gives its answers in turn."""

    facts = replace(FACTS, product="Neo4j", plugin="0.1.0")
    facts_may_be_old = False

    def __init__(self, *answers):
        self.answers = list(answers)
        self.database_id = f"{UUID}@1"
        self.asked = []

    @contextmanager
    def check(self, doing):
        yield

    @contextmanager
    def session(self, *, bulk=False):
        yield self

    @contextmanager
    def watch(self, session, seconds):
        yield

    def prefix(self, text):
        return text

    def link_of(self, session):
        return None

    def version_in_answer(self, session, link):
        return self.database_id and DatabaseVersion(self.database_id, 20, "bookmark")

    def run(self, text, parameters=None):
        self.asked.append((text, parameters))
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return [found]


FOLLOWED = {"instance": "one", "since": 10, "refused": ""}
START = DatabaseVersion(f"{UUID}@1", 10)


def following(*answers):
    connection = Connection(FOLLOWED, *answers)
    changes = PluginChanges(connection)
    assert changes.follow(["x"]) == START
    return connection, changes


def test_several_transactions_become_one_batch():
    connection, changes = following(answer())
    batch = changes.changes_since(START, DatabaseVersion(f"{UUID}@1", 12))
    assert connection.asked[-1][1] == {"instance": "one", "since": 10, "until": 12, "wait": 200}
    assert (batch.since, batch.version.transaction, batch.transaction_count) == (10, 14, 2)
    assert parse_bookmark(batch.version.bookmark) == DatabaseVersion(UUID, 14)
    assert batch.created_nodes.ids.to_pylist() == [5]
    assert batch.created_nodes.label_sets == (("A", "B"),)
    assert batch.deleted_nodes.tolist() == []  # created and deleted again
    assert batch.labels.node_ids.tolist() == [3]
    assert batch.labels.added.tolist() == [False]
    assert batch.labels.labels == ("B",)
    assert batch.created_relationships.source_ids.to_pylist() == [5]
    assert batch.created_relationships.type_names == ("R",)
    assert batch.deleted_relationships.relationship_ids.tolist() == [2]
    assert batch.node_properties["x"].ids.tolist() == [5]
    assert to_values(batch.node_properties["x"].values) == ["text"]
    assert batch.node_properties["y"].ids.tolist() == [3]
    assert batch.node_properties["y"].values is None
    assert dict(batch.relationship_properties) == {}


def test_values_withheld_from_the_user_are_read_later():
    _, changes = following(answer(nodeValues=[], nodeKeys=[]))
    assert changes.changes_since(START).node_properties["x"].values is None


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"newest": 14}, True),
        ({"newest": 15}, False),  # some transactions are still being committed
        ({"last": 20}, True),  # an older plugin does not say: the state at its end counts
        ({"last": 19}, False),
    ],
)
def test_a_batch_knows_whether_it_is_the_newest_state(told, expected):
    connection, changes = following(answer(**told), answer(**told))
    assert changes.changes_since(START).is_newest is expected
    connection.facts_may_be_old = True  # privileges must be read again
    assert not changes.changes_since(START).is_newest


def test_an_older_answer_changes_nothing():
    nothing = {name: b"" for name in answer() if isinstance(answer()[name], bytes)}
    _, changes = following(answer(last=7, names={}, nodeValues=[], **nothing))
    batch = changes.changes_since(START)
    assert batch.version.transaction == 10
    assert batch.transaction_count == 0


@pytest.mark.parametrize("row", [{}, {"lasting": True}])
def test_the_servers_gaps_are_passed_on(row):
    _, changes = following({"gap": "too much", **row})
    assert changes.changes_since(START) == ChangeGap("too much")


def test_a_restart_of_the_server_is_a_gap():
    connection, changes = following(answer())
    assert "restarted" in changes.changes_since(replace(START, database_id=f"{UUID}@0")).reason
    connection.database_id = f"{UUID}@2"
    assert "restarted" in changes.changes_since(START).reason


def test_a_refusal_is_a_gap():
    changes = PluginChanges(Connection({"instance": None, "since": 0, "refused": "no right"}))
    assert changes.follow() == ChangeGap("no right")
    assert "not recorded" in changes.changes_since(START).reason


@pytest.mark.parametrize("code", ["Procedure.ProcedureNotFound", "Security.Forbidden"])
def test_a_removed_plugin_is_a_gap(code):
    error = Neo4jError._hydrate_neo4j(code=f"Neo.ClientError.{code}", message="no")
    _, changes = following(error)
    assert changes.changes_since(START) == ChangeGap(
        "the plugin was removed, or the user may not call it"
    )


def test_a_broken_connection_is_tried_again_once():
    _, changes = following(ServiceUnavailable("cut"), answer())
    assert changes.changes_since(START).version.transaction == 14
    _, changes = following(ServiceUnavailable("cut"), ServiceUnavailable("cut"))
    with pytest.raises(ServiceUnavailable):
        changes.changes_since(START)


def test_a_server_without_a_newest_transaction_is_a_gap():
    connection = Connection(FOLLOWED)
    connection.database_id = None
    found = PluginChanges(connection).follow()
    assert found == ChangeGap("the server does not report its newest transaction")


@pytest.mark.parametrize("number", [0, 127, 128, 255, 32_767, 32_768, 2**31, 2**40])
def test_a_made_bookmark_is_parsed_back(number):
    assert parse_bookmark(bookmark_of(f"{UUID}@7", number)) == DatabaseVersion(UUID, number)


def test_a_made_bookmark_equals_the_servers():
    for text in ("FB:kcwQz4exibD+QJiDXZJJPZvn9wOQ", "FB:kcwQZRa9gK9gTiuXD3ZXT3XA2MkBl5A="):
        known = parse_bookmark(text)
        assert bookmark_of(known.database_id, known.transaction) == text


# ------------------------------------------------------------------ which source
class Facts:
    def __init__(self, **changes):
        known = replace(FACTS, product="Neo4j", plugin="0.1.0", edition="enterprise")
        self.facts = replace(known, **changes)
        self.captures = True

    @contextmanager
    def session(self):
        yield self

    def prefix(self, text):
        return text

    def run(self, text):
        return [{"id": "change"}] if self.captures else []


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({}, "PluginChanges"),
        ({"edition": "community"}, "PluginChanges"),
        ({"edition": "community", "plugin": ""}, "NoneType"),
        ({"plugin": ""}, "CapturedChanges"),
        ({"clustered": True}, "CapturedChanges"),
        ({"sees_everything": False}, "NoneType"),
        ({"has_bookmarks": False}, "NoneType"),
        ({"product": "Other"}, "NoneType"),
    ],
)
def test_the_change_source_depends_on_the_server(facts, kind):
    assert type(ChangeSources(Facts(**facts)).source()).__name__ == kind


def test_disabled_capture_is_no_change_source():
    connection = Facts(plugin="")
    connection.captures = False
    assert ChangeSources(connection).source() is None


# ------------------------------------------------------------------ finding the plugin
def found(answer):
    @contextmanager
    def session():
        def run(text):
            if isinstance(answer, Exception):
                raise answer
            return [SimpleNamespace(data=lambda: answer)]

        yield SimpleNamespace(run=run)

    return find_plugin(session, "Neo4j")


def test_the_plugin_is_found_or_the_reason_is_given():
    assert found({"version": "0.1.0", "format": 2}) == ("0.1.0", "")
    version, advice = found({"version": "9.9", "format": 3})
    assert version == ""
    assert "9.9" in advice
    missing = Neo4jError._hydrate_neo4j(
        code="Neo.ClientError.Procedure.ProcedureNotFound", message="no"
    )
    assert "gpugda plugin install" in found(missing)[1]
    forbidden = Neo4jError._hydrate_neo4j(code="Neo.ClientError.Security.Forbidden", message="no")
    assert "GRANT EXECUTE PROCEDURE gpugda.*" in found(forbidden)[1]
    broken = Neo4jError._hydrate_neo4j(code="Neo.ClientError.Some.Thing", message="why")
    assert "why" in found(broken)[1]


def test_other_products_are_not_asked():
    assert find_plugin(None, "Memgraph") == ("", "")
