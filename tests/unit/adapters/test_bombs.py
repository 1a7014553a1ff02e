"""Small files that unpack to very much are refused with a reason, in little memory."""

import gzip
import lzma
import os
import subprocess
import sys
import zipfile

import pytest
from gpugda_adapters import bounded_stream, csv_records, graphml_bounds, input_files

import gpugda

SMALL = 1 << 20
HEADER = b"id:ID,name\n"
GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


@pytest.fixture
def small(monkeypatch):
    """Lowers the limits, so that a test can exceed them quickly."""
    monkeypatch.setattr(bounded_stream, "_FREE_BYTES", SMALL)
    monkeypatch.setattr(csv_records, "MAX_RECORD_BYTES", SMALL)
    monkeypatch.setattr(csv_records, "BLOCK_BYTES", SMALL // 4)
    monkeypatch.setattr(graphml_bounds, "_FREE_CELLS", SMALL)


def read(path, *relationships):
    return gpugda.connect(gpugda.read_import({"A": path})).run("MATCH (n) RETURN count(*)")


def compressed(path, content):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.csv", content)
    else:
        opener = {".gz": gzip.open, ".xz": lzma.open}[path.suffix]
        with opener(path, "wb") as file:
            file.write(content)
    return path


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.xz", "a.zip"])
def test_a_file_that_unpacks_to_far_too_much_is_refused(small, tmp_path, name):
    path = compressed(tmp_path / name, HEADER + b"7,x\n" * SMALL)
    with pytest.raises(gpugda.SourceError, match="unpack to more than"):
        read(path)


def test_a_member_of_an_archive_is_bounded_too(small, tmp_path):
    compressed(tmp_path / "a.zip", HEADER + b"7,x\n" * SMALL)
    file = input_files.InputFile(tmp_path / "a.zip", "a.csv")
    with file.open() as stream, pytest.raises(gpugda.SourceError, match="unpack it and read"):
        stream.read()


def test_a_well_compressed_file_is_read(small, tmp_path):
    rows = b"".join(b"%d,some name\n" % number for number in range(100_000))
    path = compressed(tmp_path / "a.csv.gz", HEADER + rows)
    assert len(rows) > SMALL
    assert read(path).single().value() == 100_000


@pytest.mark.parametrize("content", [b"x" * (4 * SMALL), HEADER + b'1,"' + b"x\n" * (4 * SMALL)])
def test_a_record_without_an_end_is_refused(small, tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(gpugda.SourceError, match="a record of more than 1 MiB"):
        read(tmp_path / "a.csv")


def test_archives_that_zipfile_cannot_read_are_refused(tmp_path):
    path = compressed(tmp_path / "a.zip", HEADER)
    content = bytearray(path.read_bytes())
    for start in (b"PK\3\4", b"PK\1\2"):
        at = content.index(start) + (6 if start == b"PK\3\4" else 8)
        content[at] |= 1  # encrypted
    path.write_bytes(content)
    with pytest.raises(gpugda.SourceError, match="cannot be read"):
        read(path)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (f"{GRAPHML}<graph>" + "<x>" * 1000, "nested more than 64 deep"),
        (f"{GRAPHML}<graph><node id='1'><data key='a'>" + "x" * SMALL * 2, "a text of more than"),
        (f"{GRAPHML}<graph><!--" + "x" * SMALL * 3, "a tag or comment of more than"),
        (f"{GRAPHML}<graph><node id='" + "x" * SMALL * 3, "a tag or comment of more than"),
    ],
    ids=["depth", "text", "comment", "attribute"],
)
def test_graphml_with_too_large_an_element_is_refused(small, tmp_path, monkeypatch, content, part):
    from gpugda_adapters import graphml_parser

    for module in (graphml_bounds, graphml_parser):
        monkeypatch.setattr(module, "MAX_BYTES", SMALL)
    (tmp_path / "a.graphml").write_text(content)
    with pytest.raises(gpugda.SourceError, match=part):
        gpugda.connect(tmp_path / "a.graphml")


@pytest.mark.slow
def test_graphml_with_too_many_keys_is_refused(small, tmp_path):
    nodes = "".join(
        f"<node id='{number}'><data key='k{number}'>x</data></node>" for number in range(30_000)
    )
    (tmp_path / "a.graphml").write_text(f"{GRAPHML}<graph>{nodes}</graph></graphml>")
    with pytest.raises(gpugda.SourceError, match="too many keys for its elements"):
        gpugda.connect(tmp_path / "a.graphml")


_LITTLE = """
import resource, sys, gpugda
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, resource.RLIM_INFINITY))
try:
    gpugda.connect(gpugda.read_import({"A": sys.argv[1]}))
except gpugda.SourceError as error:
    print(str(error)[:300])
"""


@pytest.mark.slow
def test_gigabytes_of_zeros_are_refused_in_little_memory(tmp_path):
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(HEADER)
        for _ in range(400):
            file.write(bytes(1 << 20))
    assert path.stat().st_size < 4 << 20
    done = subprocess.run(
        [sys.executable, "-c", _LITTLE, str(path)], capture_output=True, text=True, env=os.environ
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "a record of more than 128 MiB" in done.stdout
