"""A snapshot that is larger than the memory limit of its process is opened and queried."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import gpugda
from gpugda.device.context import list_devices
from gpugda.loading import load
from gpugda.snapshot.store import save_snapshot

pytestmark = [
    pytest.mark.device,
    pytest.mark.slow,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux"),
]

NODES, RELATIONSHIPS = 1 << 16, 8_000_000
QUERIES = [
    "MATCH (a:L1)-->(b:L2)-->(c:L3) RETURN count(*)",
    "MATCH (a:L1)-[r]->(b:L2) WHERE a.id < 100 RETURN count(*), count(DISTINCT b)",
]
PROGRAM = """
import json, resource, sys
import numpy as np
import gpugda
from gpugda.match.extend.strategy import ExtendStrategy
ExtendStrategy.walked_pairs = 0  # so few pairs need no launch

folder, size, queries = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
random, nodes = np.random.default_rng(1), 2048
labels = np.array([f"L{each % 8}" for each in range(nodes)], dtype=object)
ends, types = random.integers(0, nodes, (2, 60_000)), np.full(60_000, "R", dtype=object)
small = gpugda.graph(
    {"id": np.arange(nodes), "labels": labels},
    {"source": ends[0], "target": ends[1], "type": types},
)
with gpugda.connect(small, memory_limit=400_000) as accelerator:
    for each in queries:  # loads kernels and everything else first
        accelerator.run(each, engine="gpu").values()
taken = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmData"))
limit = int(taken) * 1024 + size * 9 // 10
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
found = []
with gpugda.connect(folder, trust=True, memory_limit=size // 4) as accelerator:
    for each in queries:
        result = accelerator.run(each, engine="gpu")
        found.append([result.values(), list(result.summary.steps)])
try:
    np.ones(size, dtype=np.uint8)
except MemoryError:
    found.append("no copy")
print(json.dumps(found))
"""


def test_a_snapshot_larger_than_memory_is_opened_and_queried(tmp_path):
    random, types = np.random.default_rng(1), pa.array(["R"])
    source = gpugda.graph(
        pa.table({"id": np.arange(NODES), "labels": [f"L{each % 8}" for each in range(NODES)]}),
        pa.table(
            {
                "source": random.integers(0, NODES, RELATIONSHIPS),
                "target": random.integers(0, NODES, RELATIONSHIPS),
                "type": pa.DictionaryArray.from_arrays(np.zeros(RELATIONSHIPS, np.int32), types),
            }
        ),
    )
    folder = tmp_path / "snapshot"
    save_snapshot(load(source, None).graph, folder)
    with gpugda.connect(folder, trust=True) as accelerator:
        expected = [accelerator.run(each, engine="gpu").values() for each in QUERIES]
    size = sum(each.stat().st_size for each in folder.iterdir())
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), str(size), json.dumps(QUERIES)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    *found, copied = json.loads(ran.stdout)
    assert copied == "no copy"
    assert [values for values, _ in found] == expected
    assert all("bytes were sent to the device" in str(steps) for _, steps in found)
