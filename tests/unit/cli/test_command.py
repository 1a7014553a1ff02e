"""The command as users run it: in its own process, on the sample, without a device."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from gpugda.cli.app import app

ROOT = Path(__file__).resolve().parents[3]

DOG = """
MATCH (:Word {name: $name})-[h:HAS_SENSE]->(s:Noun)
RETURN s.name AS name, h.sense ORDER BY h.sense
"""


def gpugda(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "gpugda", *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_run_answers_on_the_sample():
    outcome = gpugda(
        *("run", "-a", "sample:wordnet", "--engine", "reference", "--format", "jsonl"),
        *("-P", "name='dog'", "--summary", DOG),
    )
    assert outcome.returncode == 0, outcome.stderr
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert rows[0] == {"name": "dog", "h.sense": 1}
    assert [row["h.sense"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert "engine reference" in outcome.stderr


def test_a_query_error_shows_its_place():
    outcome = gpugda("run", "-a", "sample:wordnet", "MATCH (n) RETURN m")
    assert outcome.returncode == 1
    assert "line 1, column 18" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert outcome.stdout == ""


def test_an_unknown_sample_is_refused():
    outcome = gpugda("run", "-a", "sample:wordnot", "RETURN 1")
    assert outcome.returncode == 2
    assert "sample:wordnet" in outcome.stderr


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
