"""Application queries: their cases, and the graph that is made of two CSV files."""

import csv
import lzma
import re

import pytest

import gpugda
from gpugda.bench.application_queries import APPLICATIONS, PARAMETERS
from gpugda.bench.graphs import GRAPHS, rating_graph
from gpugda.bench.query_file import application_cases
from gpugda.errors import ConfigurationError


@pytest.mark.parametrize("graph", APPLICATIONS)
def test_cases_have_the_parameters_of_their_texts(graph):
    assert graph in GRAPHS
    cases = application_cases(graph)
    assert [case.name for case in cases] == list(APPLICATIONS[graph])
    with gpugda.connect(gpugda.graph({"id": [1]})) as accelerator:
        for case in cases:
            text = case.text("x")
            assert set(re.findall(r"\$(\w+)", text)) == set(case.parameters) <= set(PARAMETERS)
            assert "the device answers this query" in str(accelerator.explain(text))


def test_a_graph_without_application_queries_is_refused():
    with pytest.raises(ConfigurationError, match="pole"):
        application_cases("yeast")


@pytest.mark.device
def test_movies_and_ratings_become_a_graph(tmp_path):
    movies = [
        ["1", "1995-11-22", "One", "Ann|Bob", "Ann", "Comedy|Drama", "8.3"],
        ["2", "", "Two", "Bob", "", "", ""],
    ]
    ratings = [["7", "1", "4.5", "100"], ["7", "3", "1.0", "101"]]
    write(
        tmp_path / "movies.csv.xz",
        ["movieId", "released", "title", "actors", "director", "genres", "imdbRating"],
        movies,
    )
    write(tmp_path / "ratings.csv.xz", ["userId", "movieId", "rating", "timestamp"], ratings)
    source = rating_graph(tmp_path / "movies.csv.xz", tmp_path / "ratings.csv.xz")
    with gpugda.connect(source) as accelerator:

        def values(text):
            return accelerator.run(text, engine="gpu").values()

        assert values("MATCH (p:Person) RETURN p.name, labels(p) ORDER BY p.name") == [
            ["Ann", ["Person", "Actor", "Director"]],
            ["Bob", ["Person", "Actor"]],
        ]
        assert values("MATCH (:User)-[r:RATED]->(m) RETURN m.title, r.rating") == [["One", 4.5]]
        assert values("MATCH (m:Movie) WHERE m.imdbRating IS NULL RETURN m.title") == [["Two"]]
        assert values("MATCH (:Movie)-[:IN_GENRE]->(g) RETURN count(g)") == [[2]]


def write(path, header, rows):
    with lzma.open(path, "wt", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
