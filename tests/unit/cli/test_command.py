"""The command as users run it, on the sample or files, without a device."""

from __future__ import annotations

import decimal
import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import typer

from gpugda.cli.app import app

ROOT = Path(__file__).resolve().parents[3]

DOG = """
MATCH (:Word {name: $name})-[h:HAS_SENSE]->(s:Noun)
RETURN s.name AS name, h.sense ORDER BY h.sense
"""


def in_a_process(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "gpugda", *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_run_answers_on_the_sample():
    outcome = in_a_process(
        *("run", "-a", "sample:wordnet", "--engine", "reference", "--format", "jsonl"),
        *("-P", "name='dog'", "--summary", DOG),
    )
    assert outcome.returncode == 0, outcome.stderr
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert rows[0] == {"name": "dog", "h.sense": 1}
    assert [row["h.sense"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert "engine reference" in outcome.stderr


def test_a_query_error_shows_its_place():
    outcome = in_a_process("run", "-a", "sample:wordnet", "MATCH (n) RETURN m")
    assert outcome.returncode == 1
    assert "line 1, column 18" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert outcome.stdout == ""


def test_an_unknown_sample_is_refused(gpugda_command):
    outcome = gpugda_command("run", "-a", "sample:wordnot", "RETURN 1")
    assert outcome.exit_code == 2
    assert "sample:wordnet" in outcome.stderr


WITHOUT_EXTRA = """
import sys
sys.modules.update(dict.fromkeys(["typer", "rich", "prompt_toolkit", "pygments"]))
"""


def test_the_library_answers_without_the_packages_of_the_command():
    program = f"""{WITHOUT_EXTRA}
import gpugda
graph = gpugda.graph({{"id": [1, 2]}}, {{"source": [1], "target": [2], "type": ["R"]}})
query = "MATCH (a)-->(b) RETURN count(*) AS links"
print(gpugda.connect(graph).run(query, engine="reference").data())
"""
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert outcome.stdout == "[{'links': 1}]\n", outcome.stderr


def test_the_command_says_which_packages_it_needs():
    program = f"{WITHOUT_EXTRA}\nfrom gpugda.cli import main\nsys.argv[1:] = ['demo']\nmain()"
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 2
    assert "typer, rich, prompt_toolkit" in outcome.stderr
    assert "pip install 'gpugda[cli]'" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_a_source_is_an_argument_of_commands_without_a_query(gpugda_command, tmp_path):
    (tmp_path / "knows.csv").write_text("source,target\n1,2\n")
    outcome = gpugda_command("schema", str(tmp_path / "knows.csv"))
    assert outcome.exit_code == 0, outcome.stderr
    assert "1 relationship" in outcome.stdout
    twice = gpugda_command("schema", "sample:wordnet", "-a", "sample:wordnet")
    assert twice.exit_code == 2
    assert "Give the source once" in twice.stderr


@pytest.mark.parametrize("command", ["serve", "status", "schema", "mcp", "run", "explain"])
def test_the_usage_has_one_pair_of_brackets(gpugda_command, command):
    usage = gpugda_command(command, "--help").stdout.partition("\n\n")[0]
    assert "[[" not in usage
    assert ("QUERY" if command in ("run", "explain") else "SOURCE") in usage


def test_decimal_columns_become_floats_by_request(gpugda_command, tmp_path):
    prices = pa.array([decimal.Decimal("1.50"), decimal.Decimal("2.25")])
    parquet.write_table(pa.table({"id": [1, 2], "price": prices}), tmp_path / "p.parquet")
    words = ("--engine", "reference", "MATCH (p) RETURN p.price ORDER BY p.price")
    files = ("--nodes", f"P={tmp_path / 'p.parquet'}")
    assert (
        gpugda_command("run", *files, "--decimals", "float", *words).stdout
        == "p.price\n1.5\n2.25\n"
    )
    refused = gpugda_command("run", *files, *words)
    assert refused.exit_code == 3
    assert "--decimals float" in refused.stderr
    alone = ("-a", str(tmp_path / "p.parquet"), "--decimals", "float")
    assert gpugda_command("run", *alone, *words).stdout == "p.price\n1.5\n2.25\n"
    without = gpugda_command("run", "-a", "sample:wordnet", "--decimals", "float", *words)
    assert without.exit_code == 2
    assert "decimals: only for Parquet and Arrow" in without.stderr


@pytest.mark.parametrize(
    "page", ["docs/command-line.md", "docker/README.md", "docker/compose.yaml"]
)
def test_documented_commands_exist(page):
    text = (ROOT / page).read_text()
    known = set(typer.main.get_command(app).commands)
    patterns = (r"`gpugda ([a-z]+)", r"^    gpugda ([a-z]+)", r"--rm gpugda(?:-nvidia)? ([a-z]+)")
    named = {name for each in patterns for name in re.findall(each, text, re.MULTILINE)}
    assert named
    assert named <= known
    if page == "docs/command-line.md":
        assert named == known
