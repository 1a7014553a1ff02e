"""Writes docs/_static/dog.svg: a result's graph, captioned and coloured; `make docs` runs it."""

from html import escape
from pathlib import Path

import gpugda

ROOT = Path(__file__).resolve().parents[1]
DRAWING = ROOT / "docs" / "_static" / "dog.svg"
QUERY = """
MATCH p = (:Word {name: 'dog'})-[:HAS_SENSE]->(:NounAnimal)-[:HYPERNYM*1..4]->()
RETURN p
"""
WIDTH, STEP, MARGIN, ROW = 124, 190, 12, 54
COLOURS = ("#4c78a8", "#b4570a", "#3a7d34", "#c03c3f")
STYLE = (
    "text{font:12px sans-serif;text-anchor:middle}.node{fill:#fff}.legend,.type{fill:#444}"
    ".type{font-size:8.5px}path,line{stroke:#666;fill:none}#tip path{fill:#666;stroke:none}"
    "@media (prefers-color-scheme:dark){.legend,.type{fill:#ccc}line{stroke:#999}"
    "#tip path{fill:#999}}"
)


def label_of(node: object) -> str:
    """The label that says most of a node of WordNet: of animals, of nouns, of words."""
    return next(each for each in ("Word", "NounAnimal", "Noun") if each in node.labels)


def main() -> None:
    with gpugda.connect("sample:wordnet") as wordnet:
        graph = wordnet.run(QUERY).graph()
    level = {node: 0 for node in graph.nodes if "Word" in node.labels}
    while len(level) < len(graph.nodes):  # a node stands right of all nodes that lead to it
        for each in graph.relationships:
            start, end = each.nodes
            if start in level and end not in level:
                level[end] = level[start] + 1
    columns = [
        sorted(
            (node for node in graph.nodes if level[node] == column), key=lambda node: node["name"]
        )
        for column in range(max(level.values()) + 1)
    ]
    height = max(map(len, columns)) * ROW + 40
    place: dict[object, tuple[float, float]] = {}
    for column, nodes in enumerate(columns):
        # In the order of the nodes before them, so that few arrows cross.
        before = {
            node: [place[one.start_node][1] for one in graph.relationships if one.end_node == node]
            for node in nodes
        }
        for row, node in enumerate(sorted(nodes, key=lambda node: before[node])):
            y = (height - 30) * (row + 0.5) / len(nodes)
            place[node] = MARGIN + WIDTH / 2 + column * STEP, y
    labels = sorted({label_of(node) for node in graph.nodes}, reverse=True)
    colour = dict(zip(labels, COLOURS, strict=False))
    width = (len(columns) - 1) * STEP + WIDTH + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(' '.join(QUERY.split()))}</title><style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    for each in sorted(graph.relationships, key=lambda one: (one.type, one.element_id)):
        (x1, y1), (x2, y2) = (place[node] for node in each.nodes)
        x1, x2 = x1 + WIDTH / 2, x2 - WIDTH / 2
        x, y = (x1 + x2) / 2, (y1 + y2) / 2 - 5 - abs(y1 - y2) / 4
        parts.append(
            f'<line x1="{x1}" y1="{y1:.0f}" x2="{x2}" y2="{y2:.0f}" marker-end="url(#tip)"/>'
            f'<text class="type" x="{x:.0f}" y="{y:.0f}">{each.type}</text>'
        )
    for node, (x, y) in place.items():
        name = node["name"] if len(node["name"]) <= 18 else f"{node['name'][:17]}…"
        parts.append(
            f'<rect x="{x - WIDTH / 2:.0f}" y="{y - 15:.0f}" width="{WIDTH}" height="30" rx="15" '
            f'fill="{colour[label_of(node)]}"/>'
            f'<text class="node" x="{x:.0f}" y="{y + 4:.0f}">{escape(name)}</text>'
        )
    for number, label in enumerate(labels):
        x = MARGIN + 10 + number * 120
        parts.append(
            f'<circle cx="{x}" cy="{height - 14}" r="7" fill="{colour[label]}"/>'
            f'<text class="legend" x="{x + 14}" y="{height - 10}" '
            f'style="text-anchor:start">:{label}</text>'
        )
    DRAWING.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")


if __name__ == "__main__":
    main()
