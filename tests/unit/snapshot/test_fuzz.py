"""Mutated snapshots with correct checksums are refused, or answer the same.

Each child process tries a share of the mutations, because an undetected one could kill the process.
Its output names the mutation that it tries.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from graphs import make_graph

import gpugda
from gpugda.data.values.temporal import neo4j_spatial, neo4j_time
from gpugda.snapshot.array_files import checksums, map_file, read_arrays, write_arrays
from gpugda.snapshot.manifest import FORMAT, MANIFEST, VERSION, read_manifest
from gpugda.snapshot.store import save_snapshot

SHARES = [(first, 8) for first in range(8)]
"""The first mutation that a child tries, and the step to the next one."""
QUERIES = (
    "MATCH (a:A)-[r:R]->(b) RETURN a.s, type(r), b.s, a.o, r.w ORDER BY a.s, b.s, r.w",
    "MATCH (a)-[:R]-(b)-[:S]-(c) RETURN count(*)",
    "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)",
    "MATCH (a)-->(b)<--(c) WHERE a.i < c.i RETURN a.i, labels(b), c.s ORDER BY a.i, c.s, id(b)",
    "MATCH (a:B) WHERE a.s STARTS WITH 't' OR a.f > 1 RETURN DISTINCT a.s, a.f, a.b ORDER BY a.s",
    "MATCH (a) RETURN a.o, id(a) ORDER BY id(a)",
    "MATCH (a)-[r]->(b) RETURN a, r, b ORDER BY id(r)",
)


def example():
    """A graph with all kinds of arrays, hubs, loops and parallel relationships."""
    time = neo4j_time()
    objects = [
        [1, 2.5], ["x"], time.Duration(1, 2, 3, 4), time.Date(2020, 1, 2), None,
        neo4j_spatial().WGS84Point((1.5, 2.5)), time.DateTime(2020, 1, 2, 3, 4, 5, 6), 7,
    ]  # fmt: skip
    nodes = [
        (
            ("A", "B", "A B", "")[i % 4],
            {
                "s": f"text {i % 7}" if i % 5 else None,
                "i": i,
                "f": i / 3,
                "b": i % 2 == 0,
                "o": objects[i % len(objects)],
            },
        )
        for i in range(24)
    ]
    choose = random.Random(3)
    ends = [(0, j) for j in range(12)] + [
        (choose.randrange(24), choose.randrange(24)) for _ in range(50)
    ]
    relationships = [
        (start, "RST"[k % 3], end, {"w": k if k % 4 else None})
        for k, (start, end) in enumerate(ends)
    ]
    return make_graph(nodes, [*relationships, (0, "R", 1, {"w": 1}), (0, "R", 1, {"w": 1})])


# ------------------------------------------------------------------ mutations
def of_array(array: pa.Array) -> list[pa.Array]:
    """Arrays that replace the given one."""
    changed = [array[:-1], pa.concat_arrays([array, array[:1]]), array[::-1], array[:0]]
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return [*changed, *_texts(array)]
    values = array.to_numpy(zero_copy_only=False)
    extreme = np.iinfo(values.dtype) if values.dtype.kind in "iu" else np.finfo(values.dtype)
    for place in {0, len(values) // 2, len(values) - 1} if len(values) else ():
        for value in (extreme.max, extreme.min, values[place] + 1, values[0], values[-1], 2):
            other = values.copy()
            with np.errstate(all="ignore"):
                other[place] = value
            changed.append(pa.array(other))
    changed += [pa.array(np.random.default_rng(seed).permutation(values)) for seed in range(3)]
    kinds = (pa.uint8(), pa.float64(), pa.large_string(), pa.null(), pa.list_(pa.int64()))
    changed += [pa.array([None] * len(values), type=kind) for kind in kinds]
    return changed


def _texts(array: pa.Array) -> list[pa.Array]:
    nasty = ["[" * 100_000, "9" * 10_000, '{"$":"Duration","parts":[1e999,0,0,0]}', "null", "{}",
             '{"$":"DateTime","date":"2020-01-01","ticks":1e30}', '"\\ud800"', '{"$":"Point"}',
             '{"$":"Time","ticks":-1}', '{"$":"WGS84Point","coordinates":[1]}', "1e999", "\x00",
             '{"$":"Date","value":"9999999-01-01"}', '{"$":"float","value":"x"}']  # fmt: skip
    return [pa.array([text] * len(array), type=array.type) for text in nasty]


def patches(array: pa.Array) -> list[tuple[bytes, bytes]]:
    """Bytes of a text array in a file and bytes to replace them. Arrow would not write these."""
    is_large = pa.types.is_large_string(array.type)
    if not is_large and not pa.types.is_string(array.type):
        return []
    offsets, texts = (buffer.to_pybytes() for buffer in array.buffers()[1:])
    numbers = np.frombuffer(offsets, np.int64 if is_large else np.int32, len(array) + 1)
    changed = []
    for place in range(len(numbers)):
        for value in (10**6, 2**31 - 1, -5, 2**40 if is_large else -(2**31), 0):
            other = numbers.copy()
            other[place] = value
            changed.append((numbers.tobytes(), other.tobytes()))
    return changed + [
        (texts, texts[:place] + value + texts[place + 1 :])
        for place in range(0, len(texts), 3)
        for value in (b"\xff", b"[", b"9", b'"')
    ]


def of_manifest(content: dict) -> list[dict]:
    """Manifests that replace the given one."""
    changed = []
    choose = random.Random(4)
    others = (None, True, -1, 2**40, 2**70, 1.5, "x", "\ud800", "../../etc/passwd", [], {}, [None])
    for path in _places(content):
        for other in choose.sample(others, 4):
            copy = json.loads(json.dumps(content))
            holder = copy
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = other
            changed.append(copy)
        copy = json.loads(json.dumps(content))
        holder = copy
        for key in path[:-1]:
            holder = holder[key]
        del holder[path[-1]]
        changed.append(copy)
    return changed


def _places(value: object, path: tuple = ()) -> list[tuple]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = enumerate(value[:3])
    for key, each in items:
        if "statistics" not in path or len(path) < 3:
            found += _places(each, (*path, key))
    return found


# ------------------------------------------------------------------ writing them
def write_manifest(folder: Path, content: dict) -> None:
    content = {key: content[key] for key in content if key not in ("format", "version", "checksum")}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    head = {"format": FORMAT, "version": VERSION, "checksum": zlib.crc32(text.encode())}
    (folder / MANIFEST).write_text(json.dumps(head | content))


def write_file(folder: Path, kind: str, arrays: dict) -> None:
    manifest = read_manifest(folder)
    entry = manifest.files[kind]
    os.unlink(folder / entry.name)
    write_arrays(folder / entry.name, arrays, None)
    refresh(folder, kind)


def refresh(folder: Path, kind: str) -> None:
    """Sets the file's size and checksums in the manifest."""
    content = json.loads((folder / MANIFEST).read_text())
    data = map_file(folder / content["files"][kind]["name"])
    content["files"][kind] |= {"size_bytes": data.size, "checksums": checksums(data)}
    write_manifest(folder, content)


def mutations(folder: Path):
    """Names of mutations, with functions that mutate a fresh copy of the snapshot in the folder."""
    manifest = read_manifest(folder)
    for kind, entry in manifest.files.items():
        arrays = read_arrays(map_file(folder / entry.name))
        for name, array in arrays.items():
            for number, other in enumerate(of_array(array)):
                yield (
                    f"{kind} {name} {number}",
                    lambda to, k=kind, a={**arrays, name: other}: write_file(to, k, a),
                )
            content = (folder / entry.name).read_bytes()
            for number, (old, new) in enumerate(patches(array)):
                assert content.count(old) == 1
                other = content.replace(old, new)
                yield (
                    f"{kind} {name} patch {number}",
                    lambda to, k=kind, n=entry.name, o=other: _put(to, k, n, o),
                )
            without = {key: each for key, each in arrays.items() if key != name}
            yield f"{kind} without {name}", lambda to, k=kind, a=without: write_file(to, k, a)
        yield from _bytes(kind, (folder / entry.name).read_bytes(), entry.name)
    for number, other in enumerate(of_manifest(json.loads((folder / MANIFEST).read_text()))):
        yield f"manifest {number}", lambda to, content=other: write_manifest(to, content)
    for number, text in enumerate(("[" * 100_000, '{"a":' * 100_000, "\x00" * 1000, "1" * 9999)):
        yield f"manifest text {number}", lambda to, t=text: (to / MANIFEST).write_text(t) and None


def _bytes(kind: str, content: bytes, name: str):
    choose = random.Random(len(content))
    for number in range(150):
        other = bytearray(content)
        for _ in range(choose.choice((1, 1, 4))):
            other[choose.randrange(len(other))] = choose.choice((0, 1, 0x7F, 0x80, 0xFF))
        yield f"{kind} bytes {number}", lambda to, o=bytes(other): _put(to, kind, name, o)


def _put(folder: Path, kind: str, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    refresh(folder, kind)


def copy_of(folder: Path, to: Path) -> None:
    to.mkdir(exist_ok=True)
    for path in to.iterdir():
        path.unlink()
    for path in folder.iterdir():
        (to / path.name).write_bytes(path.read_bytes())


# ------------------------------------------------------------------ trying them
def answers(opened: gpugda.Accelerator) -> list[str]:
    found = [repr(opened.run(text, engine="reference").values()) for text in QUERIES]
    for text, expected in zip(QUERIES, found, strict=True):
        assert repr(opened.run(text, engine="gpu").values()) == expected, text
    return found


def try_share(folder: Path, work: Path, share: tuple[int, int]) -> None:
    """Runs in the child: prints the name of each mutation, and the counts at the end."""
    with gpugda.connect(folder) as opened:
        expected = answers(opened)
    refused = same = other = 0
    for number, (name, mutate) in enumerate(mutations(folder)):
        if number % share[1] != share[0]:
            continue
        copy_of(folder, work)
        mutate(work)
        print(name, file=sys.stderr, flush=True)
        try:
            with gpugda.connect(work) as opened:
                found = answers(opened)
        except gpugda.SourceError:
            refused += 1
            continue
        if found == expected:
            same += 1
        else:
            assert name.startswith(OTHER_GRAPHS), f"{name}: other answers"
            other += 1
    print(json.dumps({"refused": refused, "same": same, "other": other}))


OTHER_GRAPHS = ("manifest", "node_properties", "relationship_properties", "arrays label_")
"""Files whose mutation may give another valid graph: names, values, and labels."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "saved"
    save_snapshot(example(), path)
    return path


@pytest.mark.slow
@pytest.mark.one_in(4)
@pytest.mark.parametrize("share", SHARES, ids=str)
def test_a_mutated_snapshot_is_refused_or_answers_the_same(saved, tmp_path, share):
    code = (
        "import sys, pathlib, importlib.util as u;"
        f"s = u.spec_from_file_location('fuzz', {__file__!r}); m = u.module_from_spec(s);"
        "sys.modules['fuzz'] = m; s.loader.exec_module(m);"
        f"m.try_share(pathlib.Path({str(saved)!r}), pathlib.Path({str(tmp_path / 'w')!r}), {share})"
    )
    tests = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": tests},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stderr[-3000:]
    ended = signal.Signals(-done.returncode).name if done.returncode < 0 else done.returncode
    assert done.returncode == 0, f"{ended}: {said}"
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["refused"] > 400 / share[1], counts
