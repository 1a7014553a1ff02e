import numpy as np
import pytest

import gpugda
from gpugda.data.values.column import Column, ColumnKind
from gpugda.execute import memory as host_memory
from gpugda.execute.batch import Batch
from gpugda.execute.memory import ResultMemory, available_bytes
from gpugda.expressions.operands import Constant

MEBIBYTE = 1 << 20
NODES = Column(ColumnKind.NODE, np.zeros(4 * MEBIBYTE, dtype=np.uint32))
CHUNK = Batch(4 * MEBIBYTE, {"n": NODES, "one": Constant(1)})


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Files that report the machine's memory."""
    monkeypatch.setattr(host_memory, "_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(host_memory, "_GROUP", tmp_path)
    return tmp_path


def test_available_memory_is_the_least_of_machine_and_container(machine):
    assert available_bytes() is None
    (machine / "meminfo").write_text("MemTotal:  900 kB\nMemAvailable:   700 kB\n")
    assert available_bytes() == 700 * 1024
    (machine / "memory.max").write_text("max\n")
    (machine / "memory.current").write_text("100\n")
    assert available_bytes() == 700 * 1024
    (machine / "memory.max").write_text("500000\n")
    assert available_bytes() == 499_900


def test_available_memory_of_this_machine_is_known():
    assert (available_bytes() or 1) > 0


@pytest.mark.parametrize(("copied", "chunks"), [(False, 40), (True, 20)])
def test_rows_are_refused_before_memory_is_full(monkeypatch, copied, chunks):
    room, kept = ResultMemory(copied=copied), 0
    monkeypatch.setattr(host_memory, "available_bytes", lambda: 1152 * MEBIBYTE - kept)

    def fill():
        nonlocal kept
        while kept < 1152 * MEBIBYTE:
            kept += 16 * MEBIBYTE
            room.add(CHUNK)

    with pytest.raises(gpugda.MemoryLimitError, match=r"rows of the result take .* use LIMIT"):
        fill()
    assert abs(kept // (16 * MEBIBYTE) - chunks) <= 4  # it checks every 64 MiB


def test_released_rows_count_no_more(monkeypatch):
    room = ResultMemory(copied=True)
    monkeypatch.setattr(host_memory, "available_bytes", lambda: 700 * MEBIBYTE)
    for _ in range(100):
        room.add(CHUNK)
        room.only(CHUNK)


@pytest.mark.device
def test_a_query_beyond_the_memory_is_refused_with_a_reason(monkeypatch):
    monkeypatch.setattr(host_memory, "_CHECK_INTERVAL_BYTES", 1000)
    monkeypatch.setattr(host_memory, "available_bytes", lambda: 1 << 20)
    graph = gpugda.graph({"id": list(range(100))})
    with gpugda.connect(graph) as accelerator:
        with pytest.raises(gpugda.MemoryLimitError, match="10,000 rows of the result"):
            accelerator.run("MATCH (a), (b) RETURN a, b", engine="gpu")
        count = accelerator.run("MATCH (a), (b) RETURN count(*)", engine="gpu").single()
        assert count.value() == 10_000


def test_collected_rows_are_refused_before_memory_is_full(monkeypatch):
    monkeypatch.setattr(host_memory, "_CHECK_INTERVAL_BYTES", 4 * MEBIBYTE)
    monkeypatch.setattr(host_memory, "available_bytes", lambda: 500 * MEBIBYTE)
    source = gpugda.graph(nodes={"id": [0], "labels": [["N"]]})
    text = "UNWIND range(1, 2000000) AS x RETURN size(collect(x))"
    with gpugda.connect(source) as accelerator:
        with pytest.raises(gpugda.MemoryLimitError, match="bytes of memory"):
            accelerator.run(text, engine="gpu").values()
        monkeypatch.setattr(host_memory, "available_bytes", lambda: 5000 * MEBIBYTE)
        assert accelerator.run(text, engine="gpu").values() == [[2000000]]
