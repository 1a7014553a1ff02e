"""Programs compiled while a caller waits, or no longer waits."""

import threading
import time

import pytest

import gpugda
from gpugda.deadline import deadline_after, working_until
from gpugda.device import program
from gpugda.device.context import Compilations
from gpugda.device.program import get_kernel
from gpugda.errors import DeviceError, QueryTimeoutError

KERNEL = ("join.cl", "count_valid", "bQQIbIb")


@pytest.fixture
def compiling():
    made = Compilations()
    yield made
    made.close()


def test_waiting_gives_the_compiled_kernel(compiling):
    assert compiling.result("a.cl", lambda: 7, None) == 7
    assert compiling.result("a.cl", lambda: 8, deadline_after(60)) == 8


def test_a_kernel_not_waited_for_is_ready_for_the_next_caller(compiling):
    ready, made = threading.Event(), []

    def make():
        made.append(ready.wait(60))
        return 7

    with pytest.raises(QueryTimeoutError, match=r"a\.cl was still compiled"):
        compiling.result("a.cl", make, deadline_after(0.02))
    with pytest.raises(QueryTimeoutError):
        compiling.result("a.cl", make, deadline_after(0.02))
    assert not made, "they waited"
    ready.set()
    assert compiling.result("a.cl", make, None) == 7
    assert made == [True]


def test_a_failed_compilation_is_tried_again(compiling):
    def fail():
        raise DeviceError("no")

    for _ in range(2):
        with pytest.raises(DeviceError, match="no"):
            compiling.result("a.cl", fail, None)
    assert compiling.result("a.cl", lambda: 7, None) == 7


def test_closing_waits_for_a_compilation(compiling):
    ended = []

    def make():
        time.sleep(0.05)
        ended.append(True)

    with pytest.raises(QueryTimeoutError):
        compiling.result("a.cl", make, deadline_after(0.001))
    compiling.close()
    assert ended


@pytest.mark.device
def test_a_kernel_beyond_the_time_limit_is_ready_for_the_next_query(context, monkeypatch):
    real = program._tuned_or_plain

    def slow(*given):
        time.sleep(0.3)
        return real(*given)

    monkeypatch.setattr(program, "_tuned_or_plain", slow)
    context.deadline = deadline_after(0.02)
    with pytest.raises(QueryTimeoutError):
        get_kernel(context, *KERNEL).compile()
    monkeypatch.setattr(program, "_tuned_or_plain", lambda *_: pytest.fail("compiled twice"))
    context.deadline = None
    get_kernel(context, *KERNEL).compile()
    assert KERNEL[0] in context.programs


@pytest.mark.device
def test_a_time_limit_does_not_wait_for_a_first_launch(context, monkeypatch):
    if not context.is_pocl:
        pytest.skip("only PoCL compiles kernels one by one")
    ready, launched = threading.Event(), []

    def compile_slowly(context, file, loaded, names):
        launched.append((names, ready.wait(60)))

    monkeypatch.setattr(program, "missing_kernels", lambda loaded, names: names)
    monkeypatch.setattr(program, "compile_kernels", compile_slowly)
    with context.lock:
        program._program(context, *KERNEL[:2])
    for _ in range(2):
        # On a busy machine, the time may be over before there is anything to wait for.
        said = "count|longer than its time limit"
        with working_until(deadline_after(0.05)), pytest.raises(QueryTimeoutError, match=said):
            get_kernel(context, *KERNEL).compile()
    ready.set()
    with working_until(deadline_after(60)):
        get_kernel(context, *KERNEL).compile()
    assert launched == [(["count_valid"], True)]


@pytest.mark.device
def test_a_query_compiles_only_the_kernels_that_it_launches(monkeypatch):
    compiled = set()
    handle = program._handle

    def compile_it(made, name, parameters):
        compiled.add(name)
        return handle(made, name, parameters)

    monkeypatch.setattr(program, "_handle", compile_it)
    source = gpugda.graph(
        nodes={"id": [0, 1]}, relationships={"source": [0], "target": [1], "type": ["KNOWS"]}
    )
    with gpugda.connect(source) as accelerator:
        result = accelerator.run("MATCH (a)-[:KNOWS]->(b) RETURN id(a) < id(b)", engine="gpu")
        assert [list(row) for row in result] == [[True]]
    assert compiled == {"filter_all", "join_rows"}
