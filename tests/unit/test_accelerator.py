import asyncio
import contextlib
import math
import multiprocessing
import os
import sys
import threading
import time
from dataclasses import replace
from datetime import datetime

import pytest
from graphs import small_tables
from soon import GENEROUS_SECONDS, ends_in

import gpugda
from gpugda.plan.cost import CPU_DEVICE

CHAIN = "MATCH (a:Person)-[:KNOWS]->(b:Person) RETURN a.name AS a, b.name AS b ORDER BY a, b"


@pytest.fixture
def people():
    nodes, relationships = small_tables()
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=relationships)) as accelerator:
        yield accelerator


ROWS = [["Ann", "Bo"], ["Bo", "Cy"], ["Cy", "Ann"]]


@pytest.mark.parametrize("engine", ["auto", "gpu", "reference"])
def test_every_engine_gives_rows_and_a_summary(people, engine):
    result = people.run(CHAIN, engine=engine)
    assert result.values() == ROWS
    summary = result.summary
    assert summary.engine == ("gpu" if engine == "auto" else engine)
    assert summary.reason
    assert summary.rows == 3
    assert summary.timings["total"] > 0
    assert "loaded 20" in summary.snapshot
    if summary.engine == "gpu":
        assert summary.strategy == "extend"
        assert summary.device
        assert summary.steps


def test_parameters_are_given_as_a_mapping_or_by_name(people):
    query = "MATCH (a:Person {name: $name}) RETURN a.name"
    assert people.run(query, {"name": "Bo"}).values() == [["Bo"]]
    assert people.run(query, name="Bo").values() == [["Bo"]]
    assert people.run(query, {"name": "Ann"}, name="Bo").values() == [["Bo"]]
    # A parameter named like an argument can only be given in the mapping.
    assert people.run("MATCH (a {name: $engine}) RETURN a.name", {"engine": "Cy"}).values() == [
        ["Cy"]
    ]
    with pytest.raises(gpugda.ParameterMissingError, match="name"):
        people.run(query)
    with pytest.raises(gpugda.ConfigurationError, match="mapping"):
        people.run(query, ["Bo"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"engine": "fast"}, "engine"),
        ({"engine": "native"}, "Neo4j"),
        ({"strategy": "magic"}, "strategy"),
        ({"timeout": -1}, "timeout"),
    ],
)
def test_wrong_arguments_are_refused(people, arguments, message):
    with pytest.raises(gpugda.ConfigurationError, match=message):
        people.run(CHAIN, **arguments)
    with pytest.raises(gpugda.ConfigurationError, match="query"):
        people.run(42)


def test_a_query_error_shows_its_place(people):
    with pytest.raises(gpugda.CypherSyntaxError) as caught:
        people.run("MATCH (a)\nRETRUN a")
    assert (caught.value.line, caught.value.column) == (2, 1)
    assert "^^^^^^" in str(caught.value)
    with pytest.raises(gpugda.UnsupportedQueryError) as caught:
        people.run("MATCH (a)\nCALL db.indexes() YIELD name RETURN a")
    assert caught.value.construct == "CALL of a procedure"
    assert (caught.value.line, caught.value.column) == (2, 1)


def test_unknown_names_are_no_error(people):
    assert people.run("MATCH (a:Nobody) RETURN a").values() == []
    assert people.run("MATCH (a)-[:HATES]->(b) RETURN a").values() == []
    assert people.run("MATCH (a {name: 'Bo'}) RETURN a.shoe").values() == [[None]]
    assert people.run("MATCH (a:Nobody) RETURN count(*)").values() == [[0]]


def test_explain_runs_nothing(people):
    text = str(people.explain(CHAIN))
    assert "strategy extend: " in text
    assert "KNOWS" in text
    explained = people.run("EXPLAIN " + CHAIN)
    assert explained.keys() == ("a", "b")
    assert explained.values() == []
    assert "extend" in "\n".join(explained.summary.steps)
    assert people.status()["device"] == ""


def test_profile_runs_the_query_and_shows_its_steps(people):
    result = people.run("PROFILE " + CHAIN)
    assert result.values() == ROWS
    assert result.summary.steps


def test_an_estimate_depends_on_whether_the_device_is_open(people):
    estimate = people.estimate(CHAIN)
    assert estimate.rows > 0
    assert estimate.bytes > 0
    assert estimate.seconds > 0.25  # includes opening the device


def test_estimated_seconds_follow_the_work_and_the_rates(people, monkeypatch):
    text = "MATCH (a)-->(b), (c)-->(d) RETURN a.name, d.name"
    people.run(text, engine="gpu")  # the device is open from here on
    more = people.estimate(text).seconds
    assert people.estimate("MATCH (a)-->(b) RETURN a.name").seconds < more < 0.25
    slow = replace(CPU_DEVICE, query_seconds=5.0)
    monkeypatch.setattr("gpugda.calibration.device.device_rates", lambda session, again: slow)
    people.calibrate()
    assert people.estimate(text).seconds == pytest.approx(more + 5.0, abs=0.1)


def test_a_query_graph_built_in_python_is_answered(people):
    builder = gpugda.QueryGraph.builder()
    a = builder.node("a", labels=["Person"], where={"name": "Ann"})
    b = builder.node("b", labels=["Person"])
    builder.relationship(a, b, types=["KNOWS"])
    graph = builder.build()
    for engine in ("gpu", "reference"):
        (record,) = people.run(graph, engine=engine)
        assert record["b"]["name"] == "Bo"


def test_a_cross_product_warns(people):
    result = people.run("MATCH (a:Person), (b:Person) RETURN count(*)")
    assert result.values() == [[9]]
    assert "cartesian product" in result.summary.warnings[0]


def test_status_and_repr_describe_the_graph(people):
    people.run(CHAIN)
    status = people.status()
    assert (status["nodes"], status["relationships"]) == (3, 3)
    assert status["device"]
    assert status["device_bytes"] > 0
    assert status["plans_cached"] == 1
    assert datetime.fromisoformat(status["loaded_at"])
    assert "3 nodes" in repr(people)


def test_a_closed_accelerator_refuses_queries_and_results_stay(people):
    result = people.run(CHAIN)
    people.close()
    people.close()
    assert people.closed
    assert result.values() == ROWS
    for call in (people.refresh, people.status, lambda: people.run(CHAIN)):
        with pytest.raises(gpugda.ConfigurationError, match="closed"):
            call()


def test_results_stay_readable_after_refresh(people):
    result = people.run("MATCH (a:Person) RETURN a ORDER BY a.name")
    people.refresh()
    assert [record["a"]["name"] for record in result] == ["Ann", "Bo", "Cy"]
    assert people.run(CHAIN).values() == ROWS


def test_a_saved_graph_is_opened_again(people, tmp_path):
    folder = tmp_path / "people"
    for compression in (None, "zstd"):
        people.save(folder, compression=compression)
        with gpugda.connect(folder) as again:
            assert again.run(CHAIN, engine="gpu").values() == ROWS
        with gpugda.connect(str(folder)) as again:
            assert again.run(CHAIN, engine="reference").values() == ROWS


def test_several_threads_query_at_once(people):
    answers, errors = [], []

    def work(number):
        try:
            for _ in range(10):
                answers.append(people.run(CHAIN, engine="gpu").values())
                people.run("MATCH (a {name: $n}) RETURN a", n=f"x{number}")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert answers == [ROWS] * 60


def test_refresh_runs_while_other_threads_query(people):
    stop, errors = threading.Event(), []

    def work():
        try:
            while not stop.is_set():
                assert people.run(CHAIN, engine="gpu").values() == ROWS
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        people.refresh()
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_an_accelerator_is_refused_after_a_fork(people):
    people.run(CHAIN)
    reader, writer = multiprocessing.Pipe(duplex=False)

    def child():
        try:
            people.run(CHAIN)
            writer.send("ran")
        except gpugda.DeviceError as error:
            writer.send(str(error))

    def child_of_its_own():
        # OpenCL does not survive a fork: a connection made in the child must not hang.
        try:
            with gpugda.connect(gpugda.graph({"id": [1]})) as own:
                own.run("MATCH (a) RETURN a")
            writer.send("ran")
        except gpugda.DeviceError as error:
            writer.send(str(error))

    for target in (child, child_of_its_own):
        process = multiprocessing.get_context("fork").Process(target=target)
        process.start()
        assert reader.poll(20)
        assert "fork" in reader.recv()
        process.join()
    assert people.run(CHAIN).values() == ROWS


def test_closing_stops_a_running_query(people):
    errors = []

    def work():
        try:
            while True:
                people.run(CHAIN, engine="gpu")
        except gpugda.ConfigurationError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    people.close()
    for thread in threads:
        thread.join()
    assert len(errors) == 3
    assert all("closed" in error for error in errors)


# Too many rows to be found one by one, and no count plan counts them faster.
CLIQUE = "(a)--(b)--(c)--(d)--(e)--(a)--(c)--(e)--(b)--(d)--(a)"


@pytest.mark.slow
def test_a_waiting_query_keeps_its_own_timeout():
    nodes = {"id": list(range(400))}
    ends = [(a, b) for a in range(400) for b in range(0, 400, 2)]
    relationships = {
        "source": [a for a, _ in ends],
        "target": [b for _, b in ends],
        "type": ["R"] * len(ends),
    }
    slow = f"MATCH {CLIQUE} RETURN count(*)"
    with gpugda.connect(gpugda.graph(nodes, relationships)) as dense:
        dense.run("MATCH (a)-->(b) RETURN count(*)")

        def long_one():
            with pytest.raises(gpugda.ConfigurationError, match="closed"):
                dense.run(slow, timeout=600)

        thread = threading.Thread(target=long_one)
        thread.start()
        time.sleep(0.5)
        # It runs between two windows of the long query, or ends at its time limit.
        with contextlib.suppress(gpugda.QueryTimeoutError):
            dense.run("MATCH (a)-->(b) RETURN count(*)", timeout=1)
        assert thread.is_alive()
    thread.join(GENEROUS_SECONDS)
    assert not thread.is_alive()


def test_rows_after_the_deadline_are_not_returned():
    nodes = {"id": list(range(1500)), "x": list(range(1500))}
    query = "MATCH (a), (b) RETURN a.x AS a, b.x AS b ORDER BY b, a"
    with gpugda.connect(gpugda.graph(nodes)) as many, pytest.raises(gpugda.QueryTimeoutError):
        many.run(query, timeout=0.05)


def test_an_accelerator_answers_again_after_a_timeout(people):
    nodes = {"id": list(range(300))}
    ends = [(a, b) for a in range(300) for b in range(0, 300, 3)]
    relationships = {
        "source": [a for a, _ in ends],
        "target": [b for _, b in ends],
        "type": ["R"] * len(ends),
    }
    query = f"MATCH {CLIQUE} RETURN count(*)"
    with gpugda.connect(gpugda.graph(nodes, relationships), memory_limit="64MiB") as dense:
        for engine in ("gpu", "reference"):
            with ends_in(), pytest.raises(gpugda.QueryTimeoutError):
                dense.run(query, engine=engine, timeout=0.3)
        assert dense.run("MATCH (a) RETURN count(*)").values() == [[300]]


def test_an_accelerator_whose_opening_is_cancelled_is_closed(monkeypatch):
    begun, go_on, opened = threading.Event(), threading.Event(), []

    def slow(source):
        begun.set()
        go_on.wait(60)
        opened.append(gpugda.Accelerator(source))
        return opened[0]

    monkeypatch.setattr("gpugda.api.connect", slow)

    async def cancelled():
        opening = asyncio.ensure_future(
            gpugda.AsyncAccelerator.connect(gpugda.graph(*small_tables()))
        )
        await asyncio.to_thread(begun.wait, 60)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        go_on.set()

    asyncio.run(cancelled())
    assert opened[0].closed


def test_the_async_accelerator_answers():
    async def main():
        nodes, relationships = small_tables()
        source = gpugda.graph(nodes, relationships)
        async with await gpugda.AsyncAccelerator.connect(source) as accelerator:
            first, second = await asyncio.gather(
                accelerator.run(CHAIN), accelerator.run(CHAIN, engine="reference")
            )
            assert "extend" in str(await accelerator.explain(CHAIN))
            await accelerator.refresh()
            third = await accelerator.try_device(CHAIN, timeout=60)
            assert (await accelerator.estimate(CHAIN)).seconds > 0
            assert (await accelerator.status())["nodes"] > 0
            assert accelerator.covers([])
            assert not accelerator.covers(["FB:a-bookmark"])
            accelerator.observe_native(CHAIN, 0.1)
            return first.values(), second.values(), third.values()

    assert asyncio.run(main()) == (ROWS, ROWS, ROWS)


def test_the_default_accelerator_comes_from_the_environment(people, tmp_path, monkeypatch):
    folder = tmp_path / "default"
    people.save(folder)
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.delenv("GPUGDA_SOURCE", raising=False)
    with pytest.raises(gpugda.ConfigurationError, match="GPUGDA_SOURCE"):
        gpugda.run(CHAIN)
    monkeypatch.setenv("GPUGDA_SOURCE", str(folder))
    assert gpugda.run(CHAIN).values() == ROWS
    assert "extend" in str(gpugda.explain(CHAIN))
    monkeypatch.setenv("GPUGDA_SOURCE", "bolt://localhost:1")
    with pytest.raises(gpugda.SourceError, match="bolt://localhost:1"):
        gpugda.run(CHAIN)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (42, gpugda.ConfigurationError),
        ("neo4j+x://example.org", gpugda.ConfigurationError),
        ("bolt://ann:secret@example.org", gpugda.ConfigurationError),
        ("sample:nothing", gpugda.ConfigurationError),
        ("/no/such/folder", gpugda.SourceError),
        (__file__, gpugda.SourceError),
    ],
)
def test_wrong_sources_are_refused(source, error):
    with pytest.raises(error):
        gpugda.connect(source)


@pytest.mark.parametrize(
    "options", [{"memory_limit": "lots"}, {"refinement": "twice"}, {"memory_limit": 0}]
)
def test_wrong_options_are_refused(options):
    with pytest.raises(gpugda.ConfigurationError):
        gpugda.connect(gpugda.graph({"id": [1]}), **options)


def test_an_unknown_device_is_refused():
    with gpugda.connect(gpugda.graph({"id": [1]}), device="no such device") as accelerator:
        with pytest.raises(gpugda.DeviceError, match="no such device"):
            accelerator.run("MATCH (a) RETURN a")
        assert accelerator.run("MATCH (a) RETURN a.id", engine="reference").values() == [[1]]


def test_a_missing_opencl_platform_is_a_device_error_with_advice(tmp_path):
    import subprocess

    code = (
        "import gpugda, pyopencl\n"
        "def none(): raise pyopencl.LogicError('clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR')\n"
        "pyopencl.get_platforms = none\n"
        "try: gpugda.connect(gpugda.graph({'id': [1]})).run('MATCH (a) RETURN a')\n"
        "except gpugda.DeviceError as error: print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install" in out.stdout


def test_too_little_memory_for_the_graph_is_a_memory_limit_error():
    nodes = {"id": list(range(10_000))}
    with gpugda.connect(gpugda.graph(nodes), memory_limit=1000) as accelerator:
        with pytest.raises(gpugda.MemoryLimitError):
            accelerator.run("MATCH (a) RETURN count(*)", engine="gpu")
        assert accelerator.run("MATCH (a) RETURN count(*)", engine="reference").values() == [
            [10_000]
        ]


def self_containing():
    items = []
    items.append(items)
    return items


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("engine", ["gpu", "reference"])
@pytest.mark.parametrize("value", [self_containing(), nested(600), {"a": nested(100)}])
def test_parameters_nested_too_deeply_are_refused(people, engine, value):
    with pytest.raises(gpugda.CypherTypeError, match=r"\$p cannot be used.*(?s:nested)"):
        people.run("MATCH (n) WHERE n.name = $p RETURN n", p=value, engine=engine)


@pytest.mark.parametrize("engine", ["gpu", "reference"])
def test_parameters_may_be_nested_deeply(people, engine):
    query = "MATCH (n) WHERE $p = $q RETURN DISTINCT $p AS p ORDER BY p"
    result = people.run(query, p=nested(100), q=nested(100), engine=engine)
    assert result.values() == [[nested(100)]]


@pytest.mark.parametrize("kind", [datetime(2020, 1, 1), datetime(2020, 1, 1).date()])
@pytest.mark.parametrize("engine", ["gpu", "reference"])
def test_dates_are_not_taken_for_lists(people, engine, kind):
    with pytest.raises(gpugda.CypherTypeError, match="expected List<T>"):
        people.run("MATCH (n) WHERE n.name IN $p RETURN n", p=kind, engine=engine)


def test_an_internal_error_on_an_embedded_graph_is_wrapped(monkeypatch):
    def fail(*arguments):
        raise ValueError("cannot reshape")

    monkeypatch.setattr("gpugda.answer.embedded.answer_on_device", fail)
    with gpugda.connect(gpugda.graph(nodes={"id": [1]})) as opened:
        with pytest.raises(gpugda.InternalError, match=r"ValueError: cannot reshape.*report"):
            opened.run("MATCH (n) RETURN n")
        assert opened.run("MATCH (n) RETURN count(*)", engine="reference").single()[0] == 1


def test_estimates_of_large_patterns_are_finite():
    graph = gpugda.graph(
        nodes={"id": list(range(40))},
        relationships={
            "source": [i for i in range(40) for _ in range(40)],
            "target": [j for _ in range(40) for j in range(40)],
            "type": ["R"] * 1600,
        },
    )
    with gpugda.connect(graph) as opened:
        for text in (
            "MATCH " + ", ".join(f"(n{i})" for i in range(900)) + " RETURN count(*)",
            "MATCH (n0)" + "".join(f"-->(n{i})" for i in range(1, 300)) + " RETURN count(*)",
        ):
            found = opened.estimate(text)
            assert 1e200 < found.rows < math.inf
            assert found.seconds is not None
            assert found.seconds >= 0
            assert str(opened.explain(text))
