"""The public graphs of Neo4j's guides, read from beside the checkout.

Each function takes the folder of real graphs and returns nodes, as (labels, properties), and
relationships, as (source position, type, target position, properties).
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

Row = dict[str, Any]
_CHUNK = 10_000
"""Rows per write transaction."""


class Graph:
    """Nodes and relationships; nodes are looked up by key."""

    def __init__(self) -> None:
        self.nodes: list[tuple[tuple[str, ...], Row]] = []
        self.relationships: list[tuple[int, str, int, Row]] = []
        self._places: dict[Any, int] = {}

    def node(self, key: Any, labels: Sequence[str], **properties: Any) -> int:
        """The node of a key; created if there is none yet."""
        if key not in self._places:
            self._places[key] = len(self.nodes)
            self.nodes.append((tuple(labels), _given(properties)))
        return self._places[key]

    def label(self, key: Any, label: str) -> None:
        """Adds a label to a node."""
        place = self._places[key]
        labels, properties = self.nodes[place]
        if label not in labels:
            self.nodes[place] = ((*labels, label), properties)

    def join(self, source: Any, kind: str, target: Any, **properties: Any) -> None:
        """Adds a relationship between the nodes of two keys, if both exist."""
        if source in self._places and target in self._places:
            ends = self._places[source], self._places[target]
            self.relationships.append((ends[0], kind, ends[1], _given(properties)))

    def write(self, run: Callable[..., Any]) -> None:
        """Writes the graph into an empty database; finally removes the property `_place`."""
        run("CREATE INDEX guide_place IF NOT EXISTS FOR (n:Guide) ON (n._place)")
        run("CALL db.awaitIndexes(60)")
        numbered = [(labels, place, made) for place, (labels, made) in enumerate(self.nodes)]
        for labels, rows in _grouped((each[0], each) for each in numbered):
            names = "".join(f":`{name}`" for name in (*labels, "Guide"))
            given = [{"i": place, "p": made} for _, place, made in rows]
            _in_chunks(run, f"CREATE (n{names}) SET n = row.p, n._place = row.i", given)
        for kind, ends in _grouped((each[1], each) for each in self.relationships):
            given = [{"a": a, "b": b, "p": made} for a, _, b, made in ends]
            _in_chunks(
                run,
                "MATCH (a:Guide {_place: row.a}), (b:Guide {_place: row.b}) "
                f"CREATE (a)-[r:`{kind}`]->(b) SET r = row.p",
                given,
            )
        count = f"IN TRANSACTIONS OF {_CHUNK} ROWS"
        run(f"MATCH (n:Guide) CALL (n) {{ REMOVE n._place REMOVE n:Guide }} {count}")
        run("DROP INDEX guide_place")


def _given(properties: Row) -> Row:
    return {key: value for key, value in properties.items() if value not in (None, "", "NULL")}


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, list[Any]]]:
    groups: dict[Any, list[Any]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return list(groups.items())


def _in_chunks(run: Callable[..., Any], text: str, rows: list[Row]) -> None:
    for start in range(0, len(rows), _CHUNK):
        run(f"UNWIND $rows AS row {text}", rows=rows[start : start + _CHUNK])


# ------------------------------------------------------------------ files
def _table(path: Path, member: str | None = None) -> Iterator[dict[str, str]]:
    """The rows of a CSV file with a header; it may be compressed or a member of a zip file."""
    if member is not None:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            yield from csv.DictReader(io.TextIOWrapper(file, "utf-8-sig", newline=""))
        return
    opened: Any = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        text = file.read().replace("\r\n", "\n").replace("\r", "\n")
    yield from csv.DictReader(io.StringIO(text))


_OF_TYPE: dict[str, Callable[[str], Any]] = {
    "int": int,
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "boolean": lambda text: text.lower() == "true",
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}


def _typed(row: dict[str, str]) -> Row:
    """The properties of a row whose header states their types."""
    made = {}
    for header, text in row.items():
        name, _, kind = header.partition(":")
        if name and text:
            made[name] = _OF_TYPE.get(kind.lower(), str)(text)
    return made


def importer(path: Path) -> Graph:
    """Reads a zip file whose headers are those of `neo4j-admin database import`."""
    graph = Graph()
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".csv"))
    for name in (name for name in names if ".nodes." in name):
        for row in _table(path, name):
            key = next(value for header, value in row.items() if ":ID" in header)
            plain = {h: v for h, v in row.items() if ":ID" not in h and h != ":LABEL"}
            graph.node(key, row[":LABEL"].split(";"), **_typed(plain))
    for name in (name for name in names if ".relationships." in name):
        for row in _table(path, name):
            plain = {h: v for h, v in row.items() if not h.startswith(":")}
            start = next(value for header, value in row.items() if ":START_ID" in header)
            end = next(value for header, value in row.items() if ":END_ID" in header)
            graph.join(start, row[":TYPE"], end, **_typed(plain))
    return graph


# ------------------------------------------------------------------ the graphs
def pole(folder: Path) -> Graph:
    """Persons, objects, locations, events."""
    return importer(folder / "pole" / "pole-data-importer.zip")


def healthcare(folder: Path) -> Graph:
    """Reports of side effects of drugs."""
    return importer(folder / "healthcare" / "healthcare-analytics-data-importer.zip")


def star_wars(folder: Path) -> Graph:
    """Films, characters, planets."""
    return importer(folder / "star-wars" / "star-wars-data-importer.zip")


def stack_overflow(folder: Path) -> Graph:
    """Questions, answers, comments, users, tags."""
    path, graph = folder / "stackoverflow" / "stackoverflow-data-importer.zip", Graph()
    numbers = {"creation_date", "view_count", "answer_count", "score"}
    for label in ("Question", "Answer", "Comment", "User", "Tag"):
        own = f"{label.lower()}_id"
        for row in _table(path, f"stackoverflow.nodes.{label}.csv"):
            made: Row = {k: int(v) if k in numbers and v else v for k, v in row.items() if k != own}
            if made.get("is_accepted"):
                made["is_accepted"] = made["is_accepted"] == "true"
            graph.node((own, row[own]), [label], **made)
    for kind in ("ASKED", "TAGGED", "PROVIDED", "ANSWERED", "COMMENTED", "COMMENTED_ON"):
        for row in _table(path, f"stackoverflow.relationships.{kind}.csv"):
            source, target = row.items()
            graph.join(source, kind, target)
    return graph


def dr_who(folder: Path) -> Graph:
    """Characters, episodes, planets of the series."""
    graph, space = Graph(), "{http://graphml.graphdrawing.org/xmlns}"
    with lzma.open(folder / "drwho" / "drwho.graphml.xz") as file:
        tree = ElementTree.parse(file)
    numbers = {"salary", "year"}
    for node in tree.iter(f"{space}node"):
        labels = [name for name in node.get("labels", "").split(":") if name]
        graph.node(node.get("id"), labels, **_data(node, space, numbers))
    for edge in tree.iter(f"{space}edge"):
        made = _data(edge, space, numbers)
        graph.join(edge.get("source"), edge.get("label") or "", edge.get("target"), **made)
    return graph


def _data(element: Any, space: str, numbers: set[str]) -> Row:
    found = {data.get("key"): data.text or "" for data in element.iter(f"{space}data")}
    return {
        key: int(text) if key in numbers else text
        for key, text in found.items()
        if key not in ("labels", "label")
    }


def north_wind(folder: Path) -> Graph:
    """Products, orders, customers."""
    path, graph = folder / "northwind", Graph()
    floats, whole = {"unitPrice", "freight", "discount"}, {"unitsInStock", "quantity"}

    def given(row: dict[str, str]) -> Row:
        left_out = (None, "picture", "photo", "notes")
        made: Row = {k: v for k, v in row.items() if k not in left_out}
        made.update({k: float(v) for k, v in row.items() if k in floats})
        made.update({k: int(v) for k, v in row.items() if k in whole})
        return made

    for file, label, own in (
        ("categories", "Category", "categoryID"),
        ("suppliers", "Supplier", "supplierID"),
        ("products", "Product", "productID"),
        ("customers", "Customer", "customerID"),
        ("employees", "Employee", "employeeID"),
        ("orders", "Order", "orderID"),
    ):
        for row in _table(path / f"{file}.csv"):
            graph.node((own, row[own]), [label], **given(row))
    for row in _table(path / "products.csv"):
        product = ("productID", row["productID"])
        graph.join(product, "PART_OF", ("categoryID", row["categoryID"]))
        graph.join(("supplierID", row["supplierID"]), "SUPPLIES", product)
    for row in _table(path / "orders.csv"):
        order = ("orderID", row["orderID"])
        graph.join(("customerID", row["customerID"]), "PURCHASED", order)
        graph.join(("employeeID", row["employeeID"]), "SOLD", order)
    for row in _table(path / "employees.csv"):
        boss = ("employeeID", row["reportsTo"])
        graph.join(("employeeID", row["employeeID"]), "REPORTS_TO", boss)
    for row in _table(path / "order-details.csv"):
        ends = ("orderID", row["orderID"]), ("productID", row["productID"])
        plain = {k: v for k, v in given(row).items() if k not in ("orderID", "productID")}
        graph.join(ends[0], "ORDERS", ends[1], **plain)
    return graph


def recommendations(folder: Path) -> Graph:
    """Movies, people, genres, users and their ratings."""
    path, graph = folder / "recommendations", Graph()
    for row in _table(path / "movies.csv.xz"):
        movie = ("m", row["movieId"])
        rating = float(row["imdbRating"]) if row["imdbRating"] else None
        graph.node(
            movie,
            ["Movie"],
            movieId=row["movieId"],
            title=row["title"],
            released=row["released"],
            year=int(row["released"][:4]) if row["released"][:4].isdigit() else None,
            imdbRating=rating,
        )
        for column, label, kind in (
            ("actors", "Actor", "ACTED_IN"),
            ("director", "Director", "DIRECTED"),
        ):
            for name in filter(None, dict.fromkeys(row[column].split("|"))):
                graph.node(("p", name), ["Person"], name=name)
                graph.label(("p", name), label)
                graph.join(("p", name), kind, movie)
        for name in filter(None, dict.fromkeys(row["genres"].split("|"))):
            graph.node(("g", name), ["Genre"], name=name)
            graph.join(movie, "IN_GENRE", ("g", name))
    for row in _table(path / "ratings.csv.xz"):
        user = ("u", row["userId"])
        graph.node(user, ["User"], userId=row["userId"], name=f"User {row['userId']}")
        made = {"rating": float(row["rating"]), "timestamp": int(row["timestamp"])}
        graph.join(user, "RATED", ("m", row["movieId"]), **made)
    return graph


def fin_cen(folder: Path) -> Graph:
    """Reports of suspicious transactions between banks."""
    path, graph = folder / "fincen", Graph()

    def entity(key: str, name: str, code: str, country: str) -> None:
        graph.node(("e", key), ["Entity"], id=key, name=name)
        if code:
            graph.node(("c", code), ["Country"], code=code, name=country)
            graph.join(("e", key), "COUNTRY", ("c", code))

    seen: set[str] = set()
    of_report: dict[str, list[Any]] = {}
    for row in _table(path / "download_transactions_map.csv.xz"):
        filing = ("f", row["id"])
        graph.node(
            filing,
            ["Filing"],
            id=row["id"],
            sar_id=row["icij_sar_id"],
            begin=datetime.strptime(row["begin_date"], "%b %d, %Y").date()
            if row["begin_date"]
            else None,
            end=datetime.strptime(row["end_date"], "%b %d, %Y").date() if row["end_date"] else None,
            amount=float(row["amount_transactions"] or 0),
            number=int(row["number_transactions"]) if row["number_transactions"] else None,
        )
        of_report.setdefault(row["icij_sar_id"], []).append(filing)
        graph.node(("e", row["filer_org_name_id"]), ["Entity"], name=row["filer_org_name"])
        graph.join(("e", row["filer_org_name_id"]), "FILED", filing)
        for side, kind in (("originator", "ORIGINATOR"), ("beneficiary", "BENEFITS")):
            key = row[f"{side}_bank_id"]
            if key not in seen:
                seen.add(key)
                names = row[f"{side}_bank"], row[f"{side}_iso"], row[f"{side}_bank_country"]
                entity(key, *names)
            graph.join(filing, kind, ("e", key))
    for row in _table(path / "download_bank_connections.csv.xz"):
        key = row["entity_b_id"]
        if key not in seen:
            seen.add(key)
            entity(key, row["entity_b"], row["entity_b_iso_code"], row["entity_b_country"])
        for filing in of_report.get(row["icij_sar_id"], []):
            graph.join(filing, "CONCERNS", ("e", key))
    return graph


def cyber_security(folder: Path) -> Graph:
    """Users, groups and computers of a company, and who controls whom."""
    graph = Graph()
    with lzma.open(folder / "cybersecurity" / "cybersecurity-json-data.json.xz", "rt") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    for line in (line for line in lines if line["type"] == "node"):
        graph.node(line["id"], line.get("labels", []), **line.get("properties", {}))
    for line in (line for line in lines if line["type"] == "relationship"):
        made = line.get("properties", {})
        graph.join(line["start"]["id"], line["label"], line["end"]["id"], **made)
    return graph


def airport_routes(folder: Path) -> Graph:
    """Airports, their locations, and the routes between them."""
    path, graph = folder / "airport-routes", Graph()
    for row in _table(path / "airport-node-list.csv.xz"):
        numbers = {"runways", "longest", "altitude"}
        plain = {k: int(v) if k in numbers else v for k, v in row.items() if k not in _PLACES}
        plain["lat"], plain["lon"] = float(row["lat"]), float(row["lon"])
        graph.node(row["iata"], ["Airport"], **plain)
        place: Any = row["iata"]
        chain = ("City", row["city"]), ("Region", row["region"]), ("Country", row["country"])
        for label, name in (*chain, ("Continent", row["continent"])):
            new = (label, name) not in graph._places
            graph.node((label, name), [label], name=name)
            if new or place == row["iata"]:
                graph.join(place, f"IN_{label.upper()}", (label, name))
            place = (label, name)
    for row in _table(path / "iroutes-edges.csv.xz"):
        graph.join(row["src"], "HAS_ROUTE", row["dest"], distance=int(row["dist"]))
    return graph


_PLACES = {"city", "region", "country", "continent", "lat", "lon"}


def game_of_thrones(folder: Path) -> Graph:
    """Characters, and how often they are mentioned together."""
    path, graph = folder / "got", Graph()
    for row in _table(path / "asoiaf-all-nodes.csv"):
        graph.node(row["Id"], ["Character"], name=row["Label"])
    for row in _table(path / "asoiaf-all-edges.csv"):
        graph.join(row["Source"], "INTERACTS", row["Target"], weight=int(row["weight"]))
    return graph


def legislators(folder: Path) -> Graph:
    """A fifth of the bills, with their sponsors, subjects, committees and votes."""
    path, graph = folder / "legis-graph", Graph()
    for row in _table(path / "committees-current.csv.xz"):
        key = row["thomasID"]
        graph.node(("c", key), ["Committee"], id=key, name=row["name"], type=row["type"])
    for name, ends, kind in (
        ("sponsors", (("l", "bioguideID"), ("b", "billID")), "SPONSORED_BY"),
        ("bill_subjects", (("b", "billID"), ("s", "title")), "DEALS_WITH"),
        ("bill_committees", (("b", "billID"), ("c", "committeeID")), "REFERRED_TO"),
        ("committee-members", (("l", "legislatorID"), ("c", "committeeID")), "SERVES_ON"),
        ("votes", (("l", "bioguideID"), ("b", "billID")), "VOTED_ON"),
    ):
        for row in _table(path / f"{name}.csv.xz"):
            if row.get("billID", "0-").split("-")[0][-1:] not in "05":
                continue
            keys = [(prefix, row[column]) for prefix, column in ends]
            for prefix, key in keys:
                graph.node((prefix, key), [_LEGIS[prefix]], id=key)
            rest = {k: v for k, v in row.items() if k in ("cosponsor", "rank", "vote")}
            graph.join(keys[0], kind, keys[1], **rest)
    return graph


_LEGIS = {"b": "Bill", "l": "Legislator", "s": "Subject", "c": "Committee"}


def movies(folder: Path) -> list[str]:
    """The statements that create the graph of movies."""
    text = (folder / "movies" / "movies.cypher").read_text("utf-8")
    statements = [part.strip() for part in text.split(";\n")]
    return [part.rstrip(";") for part in statements if part.startswith("CREATE (")]


GRAPHS: dict[str, Callable[[Path], Graph | list[str]]] = {
    "movies": movies,
    "drwho": dr_who,
    "star-wars": star_wars,
    "northwind": north_wind,
    "got": game_of_thrones,
    "cybersecurity": cyber_security,
    "stackoverflow": stack_overflow,
    "fincen": fin_cen,
    "healthcare": healthcare,
    "airport-routes": airport_routes,
    "legis-graph": legislators,
    "recommendations": recommendations,
    "pole": pole,
}
"""Reader of each graph, by the name of its folder."""
