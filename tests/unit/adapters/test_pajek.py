import os
from collections import Counter
from pathlib import Path

import pytest
from gpugda_adapters.pajek import read_pajek
from gpugda_adapters.tables import TablesSource

from gpugda.data.build import build_data_graph
from gpugda.ports import SilentProgress

SHARED = Path(os.environ.get("GPUGDA_SHARED", Path(__file__).parents[3] / "../shared")).resolve()


def test_a_small_network_is_read(tmp_path):
    path = tmp_path / "n.net"
    path.write_text(
        '*Vertices 3\r\n% a comment\r\n1 "caf\xe9 au lait" 0.1 0.2\r\n2 plain\r\n3\r\n'
        "*Arcs\r\n1 2 5\r\n*Edges\r\n2 2\r\n3 1 1\r\n",
        encoding="latin-1",
    )
    nodes, relationships = read_pajek(path, type_name="R")
    assert nodes == {"id": [1, 2, 3], "name": ["caf\xe9 au lait", "plain", "3"]}
    assert relationships == {"source": [1, 2, 3], "target": [2, 2, 1], "type": ["R", "R", "R"]}


def test_the_yeast_network_is_read():
    path = SHARED / "data/yeast-ppi/Yeast.zip"
    if not path.exists():
        pytest.skip(f"no {path}")
    nodes, relationships = read_pajek(path)
    loops = zip(relationships["source"], relationships["target"], strict=True)
    assert sum(source == target for source, target in loops) == 536
    assert Counter(nodes["labels"]).most_common(3) == [("U", 586), ("T", 283), ("D", 260)]
    with TablesSource(nodes, relationships).read(SilentProgress()) as batches:
        graph = build_data_graph(batches)
    assert (graph.node_count, graph.relationship_count) == (2361, 7182)
    assert len(graph.labels.names) == 13
    assert graph.types.names == ("INTERACTS",)
