from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from gpugda.cli.demo import QUERIES
from gpugda.errors import (
    ConfigurationError,
    CypherSyntaxError,
    DeviceError,
    GpugdaError,
    MemoryLimitError,
    QueryTimeoutError,
    SourceError,
    UnsupportedQueryError,
)
from gpugda.types import Span

RUN = ("run", "-a", "sample:wordnet")


def test_plain_is_the_default_format_without_a_terminal(accelerator, gpugda_command):
    outcome = gpugda_command(*RUN, "MATCH (n) RETURN n")
    assert outcome.exit_code == 0
    assert outcome.stdout == 'n, name\n1, "Ann"\n2, NULL\n'
    assert outcome.stderr == ""
    assert accelerator.connected[0] == "sample:wordnet"
    assert accelerator.ran[0] == "MATCH (n) RETURN n"
    assert accelerator.closed


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("plain", 'n, name\n1, "Ann"\n2, NULL\n'),
        ("csv", "n,name\n1,Ann\n2,\n"),
        ("JSONL", '{"n": 1, "name": "Ann"}\n{"n": 2, "name": null}\n'),
        ("json", '[\n{"n": 1, "name": "Ann"},\n{"n": 2, "name": null}\n]\n'),
    ],
)
def test_rows_are_written_in_each_text_format(accelerator, gpugda_command, form, expected):
    assert gpugda_command(*RUN, "--format", form, "RETURN 1").stdout == expected


def test_rows_are_written_as_arrow(accelerator, gpugda_command):
    outcome = gpugda_command(*RUN, "--format", "arrow", "RETURN 1")
    table = pa.ipc.open_stream(outcome.stdout_bytes).read_all()
    assert table.to_pydict() == {"n": [1, 2], "name": ["Ann", None]}


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("x.csv", lambda path: path.read_text() == "n,name\n1,Ann\n2,\n"),
        ("x.json", lambda path: json.loads(path.read_text())[1] == {"n": 2, "name": None}),
        ("x.jsonl", lambda path: json.loads(path.read_text().splitlines()[0])["name"] == "Ann"),
        ("x.arrow", lambda path: pyarrow.feather.read_table(path)["n"].to_pylist() == [1, 2]),
        ("x.PARQUET", lambda path: pyarrow.parquet.read_table(path)["n"].to_pylist() == [1, 2]),
        ("x.txt", lambda path: path.read_text().startswith("n, name\n1, ")),
    ],
)
def test_the_name_of_the_output_says_its_format(accelerator, gpugda_command, tmp_path, name, read):
    assert gpugda_command(*RUN, "-o", str(tmp_path / name), "RETURN 1").exit_code == 0
    assert read(tmp_path / name)


def test_no_rows_are_an_empty_array(accelerator, gpugda_command):
    accelerator.rows = []
    assert gpugda_command(*RUN, "--format", "json", "RETURN 1").stdout == "[]\n"


def test_an_unknown_format_is_refused(accelerator, gpugda_command):
    outcome = gpugda_command(*RUN, "--format", "xml", "RETURN 1")
    assert outcome.exit_code == 2
    assert "auto, plain, json, jsonl, csv, arrow, parquet" in outcome.stderr
    assert accelerator.ran is None


def test_options_reach_the_accelerator(accelerator, gpugda_command):
    gpugda_command(
        *RUN,
        "RETURN $a",
        *("-P", "a=1", "-P", "{b: 'x'}", "--engine", "reference", "--timeout", "2.5"),
        *("--device", "1", "--memory-limit", "2GiB", "--strategy", "gpsm"),
    )
    assert accelerator.ran == (
        "RETURN $a",
        {"a": 1, "b": "x"},
        {"engine": "reference", "strategy": "gpsm", "timeout": 2.5},
    )
    options = accelerator.connected[1]
    assert options["device"] == 1
    assert options["memory_limit"] == "2GiB"


@pytest.mark.parametrize(
    ("option", "text", "given"),
    [
        ("--devices", "all", {"devices": "all"}),
        ("--device", "0,1", {"devices": "0,1"}),
        ("--devices", "1", {"device": 1}),
        ("--device", "0:1", {"device": "0:1"}),
    ],
)
def test_several_devices_reach_the_accelerator(accelerator, gpugda_command, option, text, given):
    gpugda_command(*RUN, "RETURN 1", option, text)
    options = accelerator.connected[1]
    assert {name: options[name] for name in ("device", "devices") if name in options} == given


def test_summary_goes_to_standard_error(accelerator, gpugda_command):
    outcome = gpugda_command(*RUN, "--summary", "RETURN 1")
    assert outcome.stdout.startswith("n, name\n")
    assert "2 rows" in outcome.stderr
    assert "engine reference" in outcome.stderr
    assert "total" in outcome.stderr


def test_query_from_file_and_standard_input(accelerator, gpugda_command, tmp_path):
    file = tmp_path / "query.cypher"
    file.write_text("RETURN 'ä'", encoding="utf-8-sig")
    gpugda_command(*RUN, "-f", str(file))
    assert accelerator.ran[0] == "RETURN 'ä'"
    gpugda_command(*RUN, input="RETURN 2")
    assert accelerator.ran[0] == "RETURN 2"
    gpugda_command(*RUN, "-f", "-", input="RETURN 3")
    assert accelerator.ran[0] == "RETURN 3"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("RETURN 1", "-f", "x"), "not both"),
        (("-f", "missing.cypher"), "cannot be read"),
        ((" ",), "empty"),
        (("RETURN 1", "-P", "a"), "name=value"),
        (("RETURN 1", "--nodes", "A=x.csv"), "not both"),
        (("RETURN 1", "-u", "neo4j"), "--username needs a password"),
    ],
)
def test_usage_errors_are_reported(accelerator, gpugda_command, arguments, message):
    outcome = gpugda_command(*RUN, *arguments, input="")
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert "secret" not in outcome.stderr
    assert outcome.stdout == ""
    assert accelerator.ran is None


def test_a_query_file_that_is_not_utf8_is_refused(accelerator, gpugda_command, tmp_path):
    file = tmp_path / "query.cypher"
    file.write_bytes(b"RETURN '\xff'")
    outcome = gpugda_command(*RUN, "-f", str(file))
    assert outcome.exit_code == 2
    assert "not UTF-8" in outcome.stderr


def test_a_missing_source_is_an_error(accelerator, gpugda_command, monkeypatch):
    monkeypatch.delenv("GPUGDA_SOURCE", raising=False)
    monkeypatch.delenv("NEO4J_URI", raising=False)
    outcome = gpugda_command("run", "RETURN 1")
    assert outcome.exit_code == 2
    assert "GPUGDA_SOURCE" in outcome.stderr


def test_import_files_are_read(accelerator, gpugda_command, tmp_path):
    for name in ("people.csv", "knows.csv"):
        (tmp_path / name).write_text("id:ID\n")
    outcome = gpugda_command(
        "run",
        *("--nodes", f":Person:Boss={tmp_path}/people.csv"),
        *("--relationships", f"KNOWS={tmp_path}/knows.csv", "--delimiter", "TAB"),
        "RETURN 1",
    )
    assert outcome.exit_code == 0, outcome.stderr
    assert type(accelerator.connected[0]).__name__ == "ImportSource"


@pytest.mark.parametrize("files", ["Person=", "=", "=x.csv", ",", ""])
def test_malformed_import_options_are_refused(accelerator, gpugda_command, files):
    outcome = gpugda_command("run", "--nodes", files, "RETURN 1")
    assert outcome.exit_code == 2
    assert "NAME=FILE,FILE" in outcome.stderr


def test_a_label_given_twice_is_refused(accelerator, gpugda_command):
    outcome = gpugda_command("run", "--nodes", "A=x.csv", "--nodes", ":A=y.csv", "RETURN 1")
    assert outcome.exit_code == 2
    assert "given twice" in outcome.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CypherSyntaxError("wrong"), 1),
        (UnsupportedQueryError("not yet"), 1),
        (ConfigurationError("no such device"), 2),
        (SourceError("damaged"), 3),
        (DeviceError("lost"), 4),
        (MemoryLimitError("too small"), 4),
        (QueryTimeoutError("too slow"), 5),
        (KeyboardInterrupt(), 130),
        (GpugdaError("other"), 1),
        (OSError("no space left"), 3),
    ],
)
def test_each_error_has_its_exit_code(accelerator, gpugda_command, error, code):
    accelerator.error = error
    outcome = gpugda_command(*RUN, "RETURN 1")
    assert outcome.exit_code == code
    assert (str(error) or "cancelled") in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert outcome.stdout == ""


def test_a_query_error_shows_its_place(accelerator, gpugda_command):
    text = "MATCH (n)\nRETURN m"
    accelerator.error = CypherSyntaxError("m is not defined", text, Span(17, 18))
    outcome = gpugda_command(*RUN, text)
    assert "m is not defined (line 2, column 8)" in outcome.stderr
    assert outcome.stderr.rstrip().endswith("^")


def test_a_lack_of_memory_is_reported(accelerator, gpugda_command):
    accelerator.error = MemoryError()
    outcome = gpugda_command(*RUN, "RETURN 1")
    assert outcome.exit_code == 4
    assert "not enough memory" in outcome.stderr


def test_tracebacks_are_shown_only_on_request(accelerator, gpugda_command):
    accelerator.error = SourceError("damaged")
    assert "Traceback" in gpugda_command(*RUN, "-v", "-v", "RETURN 1").stderr
    assert "Traceback" not in gpugda_command(*RUN, "RETURN 1").stderr


def test_an_output_file_appears_when_complete(accelerator, gpugda_command, tmp_path):
    target = tmp_path / "rows.csv"
    target.write_text("old")
    outcome = gpugda_command(*RUN, "--format", "csv", "-o", str(target), "RETURN 1")
    assert outcome.exit_code == 0
    assert outcome.stdout == ""
    assert target.read_text() == "n,name\n1,Ann\n2,\n"
    accelerator.error = SourceError("damaged")
    assert gpugda_command(*RUN, "-o", str(target), "RETURN 1").exit_code == 3
    assert target.read_text() == "n,name\n1,Ann\n2,\n"
    assert os.listdir(tmp_path) == ["rows.csv"]


def test_an_unwritable_output_is_an_error(accelerator, gpugda_command, tmp_path):
    outcome = gpugda_command(*RUN, "-o", str(tmp_path / "missing/rows.csv"), "RETURN 1")
    assert outcome.exit_code == 2
    assert "cannot be written" in outcome.stderr


def test_explain_prints_the_plan(accelerator, gpugda_command):
    assert gpugda_command("explain", "-a", "x", "RETURN 1").stdout == "the plan of RETURN 1\n"


def test_status_is_printed(accelerator, gpugda_command):
    lines = gpugda_command("status", "-a", "x").stdout.splitlines()
    assert [line.split(maxsplit=1)[-1] for line in lines[:2]] == ["fake", "1,234"]
    assert lines[3].endswith("2.0 KiB")


def test_the_demo_runs(accelerator, gpugda_command):
    outcome = gpugda_command("demo", "--engine", "reference")
    assert outcome.exit_code == 0, outcome.output
    assert accelerator.connected[0] == "sample:wordnet"
    assert accelerator.ran[2]["engine"] == "reference"
    for query in QUERIES:
        assert query.text in outcome.stdout
    assert outcome.stdout.count("engine reference") == len(QUERIES)
    assert "1,234 nodes, 5,678 relationships" in outcome.stdout
    assert "gpugda run -a sample:wordnet" in outcome.stdout


def test_the_version_is_printed_without_heavy_imports(gpugda_command):
    assert gpugda_command("--version").stdout.startswith("gpugda ")
    quick = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "gpugda", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert quick.stdout == gpugda_command("--version").stdout
    assert not {"typer", "numpy", "pyarrow"} & {
        line.rpartition("|")[2].strip() for line in quick.stderr.splitlines()
    }


@pytest.mark.slow
def test_help_loads_no_heavy_modules():
    code = """
import sys
sys.argv = ["gpugda", "run", "--help"]
from gpugda.cli import main
try:
    main()
except SystemExit:
    pass
heavy = {"numpy", "pyarrow", "polars", "pyopencl", "neo4j"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_json_of_special_values(accelerator, gpugda_command):
    accelerator.names = ["x"]
    accelerator.rows = [[float("nan")], [[1, float("inf")]], [{"a": None}], ["ä\n"], [True]]
    rows = json.loads(gpugda_command(*RUN, "--format", "json", "RETURN 1").stdout)
    assert [row["x"] for row in rows] == [
        "NaN",
        [1, "Infinity"],
        {"a": None},
        "ä\n",
        True,
    ]


def test_csv_quotes_only_fields_that_need_it(accelerator, gpugda_command):
    accelerator.names = ["a,b", "c"]
    accelerator.rows = [['say "x"', ""], ["two\nlines", None], [True, [1, "x"]]]
    found = gpugda_command(*RUN, "--format", "csv", "RETURN 1").stdout
    assert found == '"a,b",c\n"say ""x""",""\n"two\nlines",\ntrue,"[1, ""x""]"\n'


def test_an_unpaired_surrogate_is_written(accelerator, gpugda_command):
    from gpugda.cli.formats import Format, write_result
    from gpugda.result.summary import Summary

    class Odd:
        def keys(self):
            return ("x",)

        def plain_blocks(self):
            yield [("\ud800",)]

        summary = Summary("gpu")

    sink = io.BytesIO()
    write_result(Odd(), Format.CSV, sink, terminal=False)
    assert sink.getvalue() == b"x\n?\n"


def test_a_closed_pipe_ends_the_command_without_an_error(tmp_path):
    code = """
import sys
from gpugda.cli.failures import guarded
@guarded
def write():
    for _ in range(100_000):
        sys.stdout.write("a line that is long enough\\n")
write()
"""
    process = subprocess.run(
        f"{sys.executable} -c '{code}' | head -1", shell=True, capture_output=True, text=True
    )
    assert process.stdout == "a line that is long enough\n"
    assert process.stderr == ""


FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")


@FULL
def test_a_full_disk_of_the_output_file_is_an_error(accelerator, gpugda_command):
    outcome = gpugda_command(*RUN, "-o", "/dev/full", "RETURN 1")
    assert outcome.exit_code == 2
    assert "--output '/dev/full' cannot be written: No space left" in outcome.stderr


@FULL
def test_a_full_disk_of_standard_output_is_an_error():
    code = """
import sys
from gpugda.cli.failures import guarded
@guarded
def write():
    sys.stdout.write("a line")
try:
    write()
except Exception as error:
    sys.exit(error.exit_code)
"""
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert process.returncode == 2
    assert process.stderr == (
        "gpugda: standard output cannot be written: No space left on device\n"
    )


def test_ctrl_c_during_imports_prints_no_traceback():
    code = """
import sys
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "gpugda.cli.app":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from gpugda.cli import main
main()
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.returncode == 130
    assert process.stderr == ""
