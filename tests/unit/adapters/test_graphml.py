import gzip
import lzma
import math
import os
from pathlib import Path

import pytest
from gpugda_adapters.graphml import GraphmlSource

from gpugda.data.build import build_data_graph
from gpugda.data.values.columns import to_values
from gpugda.errors import SourceError
from gpugda.ports import GraphSource, SilentProgress

SHARED = Path(os.environ.get("GPUGDA_SHARED", Path(__file__).parents[3] / "../shared")).resolve()
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
NAMESPACE = 'xmlns="http://graphml.graphdrawing.org/xmlns"'


@pytest.fixture
def write(tmp_path):
    def write_file(inner, name="g.graphml", head=HEAD):
        path = tmp_path / name
        path.write_text(f"{head}<graphml {NAMESPACE}>{inner}</graphml>", encoding="utf-8")
        return path

    return write_file


def load(path, **options):
    with GraphmlSource(path, **options).read(SilentProgress()) as batches:
        return build_data_graph(batches)


def labels_of(graph, node):
    first, last = graph.label_offsets[node : node + 2]
    return [graph.labels.name(label) for label in graph.label_ids[first:last]]


def nodes(graph):
    return {key: to_values(column) for key, column in graph.node_properties.items()}


TYPED = """
<key id="age" for="node" attr.name="age" attr.type="long"/>
<key id="d1" for="node" attr.name="height" attr.type="double"/>
<key id="ok" for="node" attr.name="ok" attr.type="boolean"/>
<key id="tags" for="node" attr.name="tags" attr.type="string" attr.list="string"/>
<key id="ns" for="node" attr.name="ns" attr.type="string" attr.list="long"/>
<key id="labels" for="node" attr.name="labels" attr.type="string"/>
<key id="since" for="edge" attr.name="since" attr.type="int"/>
<key id="label" for="edge" attr.name="label" attr.type="string"/>
<key id="kind" for="node" attr.name="kind"><default>plain</default></key>
<graph id="G" edgedefault="directed">
<node id="n0" labels=":Person:Actor"><data key="labels">:Person:Actor</data><data key="age">7</data>
<data key="d1">1.5</data><data key="ok">true</data><data key="tags">["a","b,c"]</data>
<data key="ns">[1,2]</data><data key="kind">odd</data></node>
<node id="n1"><data key="labels">:Person</data><data key="free">12</data></node>
<node id="n2"/>
<edge id="e0" source="n0" target="n1" label="KNOWS"><data key="label">KNOWS</data>
<data key="since">3</data></edge>
<edge id="e1" source="n1" target="n1"><data key="label">LIKES</data></edge>
<edge source="n2" target="n1"/>
</graph>"""


def test_declared_types_labels_and_defaults_are_read(write):
    graph = load(write(TYPED))
    assert [labels_of(graph, node) for node in range(3)] == [["Person", "Actor"], ["Person"], []]
    assert nodes(graph) == {
        "age": [7, None, None],
        "height": [1.5, None, None],
        "ok": [True, None, None],
        "tags": [["a", "b,c"], None, None],
        "ns": [[1, 2], None, None],
        "kind": ["odd", "plain", "plain"],
        "free": [None, "12", None],  # not declared: always a text
    }
    assert graph.types.names == ("KNOWS", "LIKES", "RELATED")
    assert to_values(graph.relationship_properties["since"]) == [3, None, None]
    assert "label" not in graph.relationship_properties


def test_options_name_labels_and_types(write):
    graph = load(write(TYPED), default_type="LINK", store_ids=True)
    assert graph.types.names[2] == "LINK"
    assert nodes(graph)["id"] == ["n0", "n1", "n2"]


def test_ids_become_properties_unless_they_are_neo4js(write):
    """NetworkX writes a node's name, or the key of a parallel edge, as the id."""
    inner = (
        '<graph><node id="ann"/><node id="bob"/><edge id="x" source="ann" target="bob"/>'
        '<edge source="bob" target="ann"/></graph>'
    )
    graph = load(write(inner))
    assert nodes(graph) == {"id": ["ann", "bob"]}
    assert to_values(graph.relationship_properties["id"]) == ["x", None]
    assert nodes(load(write(inner), store_ids=False)) == {}
    assert "id" not in load(write(inner.replace('id="x"', ""))).relationship_properties
    for neo4js in (
        inner.replace('id="bob"/>', 'id="bob" labels=":A"/>'),
        inner.replace('target="ann"/>', 'target="ann" label="R"/>'),
    ):
        graph = load(write(neo4js))
        assert nodes(graph) == {}
        assert "id" not in graph.relationship_properties


def test_a_property_named_id_is_kept(write):
    inner = (
        '<key id="d0" for="node" attr.name="id" attr.type="int"/><graph><node id="a">'
        '<data key="d0">7</data></node><node id="b"/></graph>'
    )
    assert nodes(load(write(inner)))["id"] == [7, None]


def test_edges_before_nodes_and_without_namespace_are_read(tmp_path):
    path = tmp_path / "g.xml"
    path.write_text(
        '<graphml><graph><edge source="b" target="a" label="R"/><node id="a"/><node id="b"/>'
        "</graph></graphml>"
    )
    graph = load(path)
    assert (graph.node_count, graph.relationship_count) == (2, 1)
    assert list(graph.outgoing.neighbours) == [0]


def test_character_references_newlines_and_cdata_are_read(write):
    inner = '<graph><node id="a"><data key="t">x &lt;\n<![CDATA[<y>]]>&#233;</data></node></graph>'
    assert nodes(load(write(inner)))["t"] == ["x <\n<y>é"]


def test_compressed_files_are_read(write, tmp_path):
    text = write(TYPED).read_bytes()
    (tmp_path / "g.graphml.gz").write_bytes(gzip.compress(text))
    (tmp_path / "g.graphml.xz").write_bytes(lzma.compress(text))
    for name in ("g.graphml.gz", "g.graphml.xz"):
        source = GraphmlSource(tmp_path / name)
        assert isinstance(source, GraphSource)
        assert source.name == name
        assert load(tmp_path / name).node_count == 3


ENTITY = HEAD + '<!DOCTYPE graphml [<!ENTITY a "b">]>\n'
EXTERNAL = HEAD + '<!DOCTYPE graphml [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n'
BAD = [
    ('<graph>\n<node id="a"></graph>', "line 3: not well-formed XML: mismatched tag"),
    ("<graph>\n<node/></graph>", "line 3: <node> has no attribute 'id'"),
    (
        '<graph><node id="a"/>\n<edge source="a"/></graph>',
        "line 3: <edge> has no attribute 'target'",
    ),
    ('<graph><node id="a"/>\n<edge source="a" target="z"/></graph>', "line 3.*'z'"),
    ('<graph><node id="a"/>\n<node id="a"/></graph>', "line 3.*'a'"),
    ('<graph><node id="a"><graph/></node></graph>', "line 2: a graph within"),
    ("<graph><hyperedge/></graph>", "line 2: <hyperedge>: a hyperedge is not a relationship"),
    (
        '<key id="n" for="node" attr.name="n" attr.type="int"/>\n'
        '<graph><node id="a"><data key="n">x</data></node></graph>',
        "line 3: <node>, key 'n': 'x' is no int",
    ),
    ('<key id="n" attr.type="date"/>', "line 2: the key 'n' has the type 'date'"),
    (
        '<key id="n" attr.list="string"/><graph><node id="a">'
        '<data key="n">a,b</data></node></graph>',
        "line 2: <node>, key 'n': 'a,b' is no list in JSON",
    ),
]


@pytest.mark.parametrize(("inner", "message"), BAD)
def test_bad_files_are_refused_with_a_reason(write, inner, message):
    with pytest.raises(SourceError, match=message):
        load(write(inner))


@pytest.mark.parametrize("head", [ENTITY, EXTERNAL])
def test_entities_are_refused(write, head):
    path = write('<graph><node id="a"><data key="t">&a;</data></node></graph>', head=head)
    with pytest.raises(SourceError, match="declares the entity 'a'"):
        load(path)


def test_unreadable_files_are_refused(write, tmp_path):
    path = write("<graph/>")
    path.write_bytes(path.read_bytes().replace(b"<graph/>", b"<graph/>\xff"))
    with pytest.raises(SourceError, match=r"line 2: not well-formed XML"):
        load(path)
    (tmp_path / "cut.graphml.gz").write_bytes(gzip.compress(write(TYPED).read_bytes())[:-30])
    with pytest.raises(SourceError, match="cannot be read to its end"):
        load(tmp_path / "cut.graphml.gz")
    with pytest.raises(SourceError, match="no such file"):
        GraphmlSource(tmp_path / "none.graphml")
    other = tmp_path / "other.xml"
    other.write_text("<html/>")
    with pytest.raises(SourceError, match="outermost element is <html>"):
        load(other)


def test_the_doctor_who_graph_is_read():
    path = SHARED / "data/drwho/drwho.graphml.xz"
    if not path.exists():
        pytest.skip(f"no {path}")
    graph = load(path)
    assert (graph.node_count, graph.relationship_count) == (1060, 2286)
    assert set(graph.labels.names) == {
        "Planet",
        "Episode",
        "Character",
        "Species",
        "Actor",
        "Thing",
    }
    assert len(graph.types.names) == 16
    assert sorted(filter(None, nodes(graph)["salary"])) == [200000, 1000000]
    years = to_values(graph.relationship_properties["year"])
    assert sorted(filter(None, years))[-1] == 2010


@pytest.mark.parametrize("encoding", ["foo", "shift_jis"])
def test_an_unknown_encoding_is_refused(write, encoding):
    path = write("<graph/>", head=f'<?xml version="1.0" encoding="{encoding}"?>\n')
    with pytest.raises(SourceError, match=r"g\.graphml, line 1: the declared encoding"):
        load(path)


def test_the_error_of_a_repeated_id_names_both_lines(write):
    with pytest.raises(SourceError, match=r"line 4: the id 'a' was already used in .*line 3"):
        load(write('<graph>\n<node id="a"/>\n<node id="a"/></graph>'))


def test_the_error_of_an_unsupported_list_names_line_and_key(write):
    key = '<key id="k" for="node" attr.name="k" attr.type="string" attr.list="long"/>'
    inner = f'{key}<graph>\n<node id="a"><data key="k">[1, null]</data></node></graph>'
    with pytest.raises(SourceError, match=r"line 3.*'k'"):
        load(write(inner))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("inf", math.inf), ("INF", math.inf), ("-INF", -math.inf), ("Infinity", math.inf)],
)
def test_infinite_numbers_are_read_as_xml_python_and_java_write_them(write, text, expected):
    key = '<key id="x" for="node" attr.name="x" attr.type="double"/>'
    path = write(f'{key}<graph><node id="a"><data key="x">{text}</data></node></graph>')
    assert nodes(load(path))["x"] == [expected]
