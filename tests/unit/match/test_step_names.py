"""Steps name labels and types as Cypher writes them."""

import gpugda


def test_unusual_names_are_quoted_in_steps_and_reasons():
    nodes = {"id": [1, 2, 3], "labels": ["A", "A", "A"]}
    relationships = {
        "source": [1, 2, 3],
        "target": [2, 3, 1],
        "type": ["odd type", "odd type", "R"],
    }
    with gpugda.connect(gpugda.graph(nodes, relationships)) as accelerator:
        text = "MATCH (`an a`)-[`an r`:`odd type`]->(b)-[:`odd type`]->(c) RETURN `an a`.id AS i"
        steps = " ".join(accelerator.run(text, engine="gpu").summary.steps)
        explained = str(accelerator.explain(text.replace("(b)", "(b:`no label`)")))
    assert "-[`an r`:`odd type`]->" in steps
    assert "(`an a`)" in steps
    assert "No node has the label :`no label`." in explained
