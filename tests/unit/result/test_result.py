from __future__ import annotations

import functools
import gc
import subprocess
import sys
from itertools import pairwise

import neo4j
import neo4j.exceptions
import numpy as np
import pandas as pd
import pytest
from neo4j.spatial import CartesianPoint
from neo4j.time import Date, DateTime

from gpugda.data.values.chunked_column import ChunkedColumn
from gpugda.data.values.columns import Column, ColumnKind, column_from_values
from gpugda.garbage import collections_rare
from gpugda.result.rows import BLOCK_ROWS, FIRST_BLOCK_ROWS, MAX_BLOCK_ROWS
from gpugda.result.table_rows import TableRows
from gpugda.values import Entity

NUMBERS = [[1, "a"], [2, "b"], [3, None]]


@pytest.fixture
def three(result_of):
    return result_of(["n", "text"], NUMBERS)


def test_iterating_gives_records_once(three):
    records = list(three)
    assert [type(record) for record in records] == [neo4j.Record] * 3
    assert [record["n"] for record in records] == [1, 2, 3]
    assert records[2]["text"] is None
    assert records[0].data() == {"n": 1, "text": "a"}
    assert list(three) == []
    assert three.peek() is None


def test_keys_stay_readable_after_consume(three):
    summary = three.consume()
    assert three.keys() == ("n", "text")
    assert summary is three.summary
    assert three.closed()
    assert three.consume() is summary


@pytest.mark.parametrize(
    "read",
    [
        list,
        lambda result: result.peek(),
        lambda result: result.fetch(1),
        lambda result: result.single(),
        lambda result: result.values(),
        lambda result: result.value(),
        lambda result: result.data(),
        lambda result: result.graph(),
        lambda result: result.to_arrow(),
        lambda result: result.to_df(),
        lambda result: list(result.plain_blocks()),
    ],
)
def test_nothing_can_be_read_after_consume(three, read):
    three.consume()
    with pytest.raises(neo4j.exceptions.ResultConsumedError, match="before calling consume"):
        read(three)


def test_iterators_share_the_rows(three):
    first, second = iter(three), iter(three)
    assert [next(first)["n"], next(second)["n"], next(first)["n"]] == [1, 2, 3]
    with pytest.raises(StopIteration):
        next(second)


def test_peek_does_not_consume_the_record(three):
    assert three.peek()["n"] == 1
    assert next(three)["n"] == 1
    assert three.peek()["n"] == 2
    assert three.values() == [[2, "b"], [3, None]]


def test_fetch_returns_at_most_the_number_of_records(three):
    assert three.fetch(0) == []
    assert three.fetch(-1) == []
    assert [record["n"] for record in three.fetch(2)] == [1, 2]
    assert [record["n"] for record in three.fetch(2)] == [3]
    assert three.fetch(2) == []


def test_single_returns_the_only_record(result_of):
    assert result_of(["n"], [[7]]).single()["n"] == 7
    assert result_of(["n"], [[7]]).single(strict=True)["n"] == 7
    assert result_of(["n"], []).single() is None


def test_single_of_many_warns_and_drops_the_rest(three):
    with pytest.warns(UserWarning, match="there are 3"):
        assert three.single()["n"] == 1
    assert list(three) == []


@pytest.mark.parametrize("rows", [[], [[1], [2]]])
def test_single_strict_raises(result_of, rows):
    with pytest.raises(neo4j.exceptions.ResultNotSingleError, match=f"there are {len(rows)}"):
        result_of(["n"], rows).single(strict=True)


def test_single_considers_unread_rows_only(three):
    three.fetch(2)
    assert three.single(strict=True)["n"] == 3


def test_value_takes_a_name_or_position(result_of):
    assert result_of(["n", "text"], NUMBERS).value() == [1, 2, 3]
    assert result_of(["n", "text"], NUMBERS).value("text") == ["a", "b", None]
    assert result_of(["n", "text"], NUMBERS).value(1) == ["a", "b", None]
    assert result_of(["n", "text"], NUMBERS).value("missing", default=0) == [0, 0, 0]
    assert result_of(["n", "text"], NUMBERS).value(5) == [None, None, None]


def test_values_of_some_columns(result_of):
    assert result_of(["n", "text"], NUMBERS).values("text", 0) == [["a", 1], ["b", 2], [None, 3]]
    assert result_of(["n"], [[1]]).values("missing") == [[None]]
    with pytest.raises(IndexError):
        result_of(["n"], [[1]]).values(3)
    with pytest.raises(TypeError, match="by text or position"):
        result_of(["n"], [[1]]).values(1.5)


def test_data_of_some_columns(result_of):
    assert result_of(["n", "text"], NUMBERS[:1]).data("n") == [{"n": 1}]
    assert result_of(["n"], [[1]]).data("missing") == [{"missing": None}]
    with pytest.raises(IndexError):
        result_of(["n"], [[1]]).data(3)


@pytest.mark.parametrize("count", [BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 2 * BLOCK_ROWS])
def test_rows_are_read_across_blocks(result_of_columns, count):
    column = Column(ColumnKind.INTEGER, np.arange(count, dtype=np.int64))
    result = result_of_columns(n=column)
    taken = [next(result)["n"]]
    taken += [record["n"] for record in result.fetch(BLOCK_ROWS - 3)]
    assert result.peek()["n"] == BLOCK_ROWS - 2
    taken += [record["n"] for record in result]
    assert taken == list(range(count))


def test_all_rows_across_blocks_in_mixed_reading(result_of_columns):
    count = 2 * BLOCK_ROWS + 7
    result = result_of_columns(n=Column(ColumnKind.INTEGER, np.arange(count, dtype=np.int64)))
    taken = [next(result)["n"]]
    taken += [record["n"] for record in result.fetch(BLOCK_ROWS)]
    assert result.peek()["n"] == BLOCK_ROWS + 1
    taken += [record["n"] for _, record in zip(range(3), result, strict=False)]
    taken += result.value()
    assert taken == list(range(count))


SIZES = [0, 1, FIRST_BLOCK_ROWS, MAX_BLOCK_ROWS + FIRST_BLOCK_ROWS + 1, 2 * MAX_BLOCK_ROWS]
READERS = {
    "iterating": lambda result: [tuple(record) for record in result],
    "fetch": lambda result: [
        tuple(each) for size in (3, MAX_BLOCK_ROWS, 99_999) for each in result.fetch(size)
    ],
    "values": lambda result: list(map(tuple, result.values())),
    "values by name": lambda result: list(map(tuple, result.values("i", "s", "n"))),
    "data": lambda result: [tuple(row.values()) for row in result.data()],
    "to_arrow": lambda result: [tuple(row.values()) for row in result.to_arrow().to_pylist()],
    "plain_blocks": lambda result: [row for block in result.plain_blocks() for row in block],
    "to_df": lambda result: [
        tuple(None if each is pd.NA or each is np.nan else each for each in row)
        for row in result.to_df().astype(object).itertuples(index=False)
    ],
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("begin", [0, 2])
def test_all_methods_read_the_same_rows(result_of_columns, count, read, begin):
    """In one array and in chunks, from the start and after some rows."""
    rows = rows_up_to(count)
    for cuts in ((), (1,), (FIRST_BLOCK_ROWS, FIRST_BLOCK_ROWS, MAX_BLOCK_ROWS + 5)):
        columns = pieces_of_rows(count, cuts)
        result = result_of_columns(**columns)
        taken = list(map(tuple, result.fetch(begin)))
        assert taken + read(result) == rows
        assert result.peek() is None


@functools.cache
def rows_up_to(count):
    return [(i, f"text {i % 7}", None if i % 3 else -i) for i in range(count)]


@functools.cache
def pieces_of_rows(count, cuts):
    rows = rows_up_to(count)
    return {name: pieced([row[at] for row in rows], cuts) for at, name in enumerate("isn")}


def pieced(values, cuts):
    """The column of some values, cut at these positions."""
    if not values:
        return Column(ColumnKind.INTEGER, np.zeros(0, dtype=np.int64))
    column = column_from_values(values)
    ends = [0, *(min(cut, len(values)) for cut in cuts), len(values)]
    parts = [column.take(np.arange(low, high)) for low, high in pairwise(ends)]
    return ChunkedColumn(parts) if cuts else column


def test_records_are_made_in_growing_bounded_blocks(result_of_columns, monkeypatch):
    made = []
    records = TableRows.records

    def noted(self, start, stop):
        made.append((start, stop))
        return records(self, start, stop)

    monkeypatch.setattr(TableRows, "records", noted)
    count = 4 * MAX_BLOCK_ROWS
    result = result_of_columns(n=Column(ColumnKind.INTEGER, np.arange(count, dtype=np.int64)))
    next(result)
    assert made == [(0, FIRST_BLOCK_ROWS)]
    assert sum(1 for _ in result) == count - 1
    assert [start for start, _ in made[1:]] == [stop for _, stop in made[:-1]]
    assert max(stop - start for start, stop in made) == MAX_BLOCK_ROWS
    assert gc.isenabled()


@pytest.fixture
def collector():
    """Python's garbage collector, put back after the test."""
    enabled, thresholds = gc.isenabled(), gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    (gc.enable if enabled else gc.disable)()


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("thresholds", [(700, 10, 10), (0, 10, 10)])
def test_reading_leaves_garbage_collection_unchanged(three, collector, enabled, thresholds):
    (gc.enable if enabled else gc.disable)()
    gc.set_threshold(*thresholds)
    next(three)
    three.values()
    assert gc.isenabled() is enabled
    assert gc.get_threshold() == thresholds


def test_what_other_threads_set_while_rows_are_made_holds(collector):
    """Blocks of several threads overlap, and the program changes its mind meanwhile."""
    gc.enable()
    gc.set_threshold(700, 10, 10)
    for begun, ended in ((2, 2), (1, 0), (2, 3)):
        blocks = [collections_rare() for _ in range(begun + 1)]
        for block in blocks:
            block.__enter__()
        gc.disable()
        gc.set_threshold(500 + begun, 5, 5)
        with collections_rare():
            pass
        for block in blocks[ended:] + blocks[:ended]:
            block.__exit__(None, None, None)
        assert not gc.isenabled()
        assert gc.get_threshold() == (500 + begun, 5, 5)


def test_no_collection_starts_while_rows_are_made(collector):
    gc.enable()
    gc.set_threshold(100, 10, 10)
    with collections_rare():
        before = gc.get_stats()
        kept = [[number] for number in range(10_000)]
        assert gc.get_stats() == before
    kept += [[number] for number in range(1_000)]
    assert gc.get_stats() != before


def test_data_equals_the_data_of_the_records(result_of):
    rows = [
        [1, "a", Entity(True, 0), Entity(False, 1), [Entity(True, 1), 2], {"k": [1.5]}],
        [None, None, None, Entity(False, 1), None, {"k": Entity(False, 0)}],
    ]
    points = [CartesianPoint((1, 2)), None]
    days = [Date(2000, 1, 2), DateTime(2000, 1, 2, 3, 4, 5)]
    rows = [[*row, point, day] for row, point, day in zip(rows, points, days, strict=True)]
    names = ["i", "s", "n", "r", "l", "m", "p", "d"]
    whole = result_of(names, rows).data()
    assert whole == [record.data() for record in result_of(names, rows)]
    some = ("m", 2, "missing", "i")
    assert result_of(names, rows).data(*some) == [
        record.data(*some) for record in result_of(names, rows)
    ]
    assert [list(row) for row in whole] == [names, names]


@pytest.mark.parametrize(
    "read", [lambda result: result.value("r"), lambda result: [row[0] for row in result.values(0)]]
)
def test_ends_have_properties_even_if_their_columns_are_not_read(result_of, read):
    ann, bob, knows = Entity(True, 0), Entity(True, 1), Entity(False, 0)
    (relationship,) = read(result_of(["r", "a", "l"], [[knows, ann, [bob]]]))
    assert [node["name"] for node in relationship.nodes] == ["Ann", 'Bob "B"']
    assert list(relationship.graph.relationships) == [relationship]


def test_rows_share_no_mutable_values(result_of):
    first, second = result_of(["n", "l"], [[Entity(True, 0), [1]]] * 2).data()
    first["n"]["tags"].append("z")
    first["l"].append(2)
    assert second == {"n": {"name": "Ann", "tags": ["x", "y"]}, "l": [1]}


def test_reading_counts_towards_the_time(three):
    assert "materialise" not in three.summary.timings
    three.values()
    assert three.summary.timings["materialise"] > 0
    assert three.summary.timings["total"] > 0.5


def test_repr_shows_the_unread_rows(three):
    next(three)
    assert repr(three) == ("<Result of 3 rows (2 unread), keys=('n', 'text'), engine='reference'>")


def test_html_is_escaped_and_consumes_no_rows(result_of):
    result = result_of(["<n>"], [[f"<b>{number}"] for number in range(23)])
    html = result._repr_html_()
    assert "<th>&lt;n&gt;</th>" in html
    assert "<td>&quot;&lt;b&gt;19&quot;</td>" in html
    assert "&lt;b&gt;20" not in html
    assert "3 more rows" in html
    assert "engine reference" in html
    assert len(result.values()) == 23


def test_html_shows_nodes(result_of):
    html = result_of(["n"], [[Entity(True, 2)], [Entity(True, 1)]])._repr_html_()
    assert "<td>()</td>" in html
    assert "(:Person {name: &quot;Bob" in html


def test_scalars_need_no_neo4j():
    code = """
import sys, numpy as np
from gpugda.execute.result_table import ResultTable
from gpugda.data.values.columns import Column, ColumnKind, column_from_values
from gpugda.result.result import Result
from gpugda.result.summary import Summary
column = Column(ColumnKind.INTEGER, np.arange(3))
result = Result(ResultTable(("n",), (column,), 3, None), Summary("gpu"))
assert result.values() == [[0], [1], [2]]
assert "neo4j" not in sys.modules and "pandas" not in sys.modules and "polars" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_eager_result_is_the_drivers(three):
    next(three)
    found = three.to_eager_result()
    assert isinstance(found, neo4j.EagerResult)
    records, summary, keys = found
    assert [record["n"] for record in records] == [2, 3]
    assert summary is three.summary
    assert keys == ["n", "text"]
    assert three.closed()


def test_a_printed_result_shows_its_rows(result_of):
    result = result_of(["n"], [[number] for number in range(25)])
    next(result)
    text = str(result)
    assert "│ 19 │\n└" in text
    assert "… and 5 more rows\n" in text
    assert "engine reference" in text
    assert next(result)["n"] == 1


def test_readers_of_arrow_get_all_rows_each_time(result_of):
    import polars as pl
    import pyarrow as pa

    result = result_of(["n", "x"], [[1, "a"], [2, None]])
    for _ in range(2):
        assert pa.table(result).to_pydict() == {"n": [1, 2], "x": ["a", None]}
        assert pl.DataFrame(result).rows() == [(1, "a"), (2, None)]
    assert len(list(result)) == 2


def test_a_cursor_reads_plain_rows(result_of):
    import polars as pl

    from gpugda.result.cursor import Cursor

    ran = []

    class Connection:
        def cursor(self):
            return Cursor(self.run)

        def run(self, query, parameters):
            ran.append((query, parameters))
            rows = [[None, Entity(True, 0)]] * 150 + [["x", Entity(True, 0)]]
            return result_of(["late", "a"], rows)

    frame = pl.read_database("MATCH …", Connection(), execute_options={"parameters": {"p": 1}})
    assert ran == [("MATCH …", {"p": 1})]
    assert frame["late"].to_list()[-1] == "x"
    assert frame["a"][0]["labels"] == ["Person", "Boss"]
    cursor = Connection().cursor().execute("MATCH …")
    assert (cursor.rowcount, cursor.description[0][:2]) == (151, ("late", "TEXT"))
    assert cursor.fetchone()[0] is None
    assert len(cursor.fetchmany(100)) == 100
    assert len(cursor.fetchall()) == 50
    assert cursor.fetchone() is None
    cursor.close()
