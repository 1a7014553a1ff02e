"""A user's program, checked by ``mypy --strict`` in ``make check``: what types the API promises."""

from __future__ import annotations

from typing import assert_type

import neo4j
import polars as pl
import pyarrow as pa

import gpugda

PEOPLE = [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bo"}]


def embedded() -> int:
    graph = gpugda.graph(PEOPLE, [(1, 2)], labels="Person", type="KNOWS", decimals="float")
    with gpugda.connect(graph, device="cpu", memory_limit="1GiB", refinement="once") as accelerator:
        result = accelerator.run(
            "MATCH (a)-->(b) WHERE a.name = $name RETURN b.name AS name",
            {"name": "Ann"},
            engine="auto",
            strategy="extend",
            timeout=3.0,
        )
        assert_type(result, gpugda.Result)
        for record in result:
            assert_type(record, neo4j.Record)
        assert_type(result.single(), neo4j.Record | None)
        one = accelerator.run("MATCH (n) RETURN count(*) AS n").single(strict=True)
        assert_type(one, neo4j.Record)
        found = accelerator.execute_query("MATCH (n) RETURN n")
        assert_type(found, neo4j.EagerResult)
        frame = accelerator.execute_query("MATCH (n) RETURN n", result_transformer_=to_polars)
        assert_type(frame, pl.DataFrame)
        table: pa.Table = accelerator.run("MATCH (n) RETURN n").to_arrow()
        summary = result.consume()
        assert_type(summary, gpugda.Summary)
        assert_type(summary.timings, dict[str, float])
        print(summary.headline(), accelerator.explain("MATCH (n) RETURN n"), table.num_rows)
        count: int = one["n"]
        return count


def to_polars(result: gpugda.Result) -> pl.DataFrame:
    return result.to_polars()


def live(address: str, user: str, password: str) -> None:
    driver = neo4j.GraphDatabase.driver(address, auth=(user, password))
    with gpugda.accelerate(driver, load="background", freshness="max_age=5s") as faster:
        assert_type(faster.execute_query("MATCH (n) RETURN n").records, list[neo4j.Record])
        print(faster.gpugda.status(), faster.gpugda.tally)


async def asynchronous() -> None:
    async with await gpugda.AsyncAccelerator.connect("sample:wordnet") as accelerator:
        print((await accelerator.run("MATCH (n) RETURN count(*)")).values())


def careful(address: str) -> None:
    try:
        gpugda.connect(address, planner="cost", load="now", freshness="strict")
    except gpugda.SourceError as error:
        print(error)
