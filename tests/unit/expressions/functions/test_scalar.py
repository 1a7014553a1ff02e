import pytest

from gpugda.errors import CypherTypeError
from gpugda.expressions.context import Context
from gpugda.expressions.functions import find_function
from gpugda.expressions.operators import access, maps
from gpugda.values import Entity, Path, kind_of, order_key

A, B, R = Entity(True, 0), Entity(True, 1), Entity(False, 0)


class Entities:
    """Two nodes and a relationship between them."""

    def labels(self, node):
        return ["Person"] if node == A else []

    def type(self, relationship):
        return "KNOWS"

    def properties(self, entity):
        return {"name": "Ann", "age": 5} if entity == A else {}

    def start(self, relationship):
        return A

    def end(self, relationship):
        return B

    def id(self, entity):
        return entity.index + 10

    def element_id(self, entity):
        return f"4:x:{entity.index}"


CONTEXT = Context(entities=Entities())


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [
        ("labels", A, ["Person"]),
        ("type", R, "KNOWS"),
        ("properties", A, {"name": "Ann", "age": 5}),
        ("keys", A, ["name", "age"]),
        ("startNode", R, A),
        ("endNode", R, B),
        ("id", B, 11),
        ("elementId", A, "4:x:0"),
        ("nodes", Path((A, B), (R,)), [A, B]),
        ("relationships", Path((A, B), (R,)), [R]),
        ("length", Path((A,)), 0),
    ],
)
def test_functions_of_entities_and_paths(name, argument, value):
    assert find_function(name)(CONTEXT, [argument]) == value


def test_a_wrong_kind_of_entity_is_a_type_error():
    with pytest.raises(CypherTypeError, match=r"labels\(\) takes a node"):
        find_function("labels")(CONTEXT, [R])
    with pytest.raises(CypherTypeError, match="no graph"):
        find_function("id")(Context(), [A])


def test_properties_of_entities():
    assert access.property_of(A, "name", CONTEXT) == "Ann"
    assert access.subscript(A, "age", CONTEXT) == 5
    assert access.property_of(B, "name", CONTEXT) is None


def test_a_map_projection_keeps_the_last_value_of_a_key():
    parts = [(None, ...), ("age", 6), ("missing", ...)]
    assert maps.projected(A, parts, CONTEXT) == {"name": "Ann", "age": 6, "missing": None}
    assert maps.projected(None, parts, CONTEXT) is None


def test_paths_are_values():
    path = Path((A, B), (R,))
    assert kind_of(path) == "path"
    assert path == Path((A, B), (R,))
    assert path != Path((B, A), (R,))
    assert order_key(Path((A,))) < order_key(path)
