"""A strategy in a package of its own, as docs/add-a-strategy.md describes it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from bound_cases import cases
from bound_queries import Node, Relationship, check_case, make_plan
from hypothesis import given
from split_devices import open_split

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.need import Count

PACKAGE = Path(__file__).parent / "merge_strategy"
sys.path.insert(0, str(PACKAGE))
from gpugda_merge import MergeStrategy  # noqa: E402

QUERIES = [
    "MATCH (w:Word {name: 'dog'})-[:HAS_SENSE]->(s)-[:HYPERNYM]->(h) RETURN id(h) ORDER BY id(h)",
    "MATCH (a:Word {name: 'dog'})-[:HAS_SENSE]->(s)<-[:HAS_SENSE]-(b) RETURN count(*)",
]
ASKED = f"""
import json, gpugda
with gpugda.connect("sample:wordnet") as wordnet:
    found = [
        [wordnet.run(text, engine="gpu", strategy="merge").values() for text in {QUERIES!r}],
        [wordnet.run(text, engine="gpu").values() for text in {QUERIES!r}],
        str(wordnet.explain({QUERIES[0]!r}, strategy="merge")),
    ]
print(json.dumps(found))
"""


@pytest.fixture
def installed(tmp_path):
    """The package as pip installs it: its module, and a folder of metadata with entry points."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.copy(PACKAGE / "gpugda_merge.py", tmp_path)
    metadata = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (metadata / "METADATA").write_text(head, encoding="utf-8")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def context():
    if not list_devices():
        pytest.skip("no OpenCL device")
    opened = open_split(like_cpu=True)
    yield opened
    opened.close()


def run(*arguments, beside=None):
    paths = [str(beside)] if beside else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, *sys.path])}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.device
def test_an_installed_strategy_is_found_by_its_name(installed):
    done = run("-c", ASKED, beside=installed)
    assert done.returncode == 0, done.stderr
    found, expected, explained = json.loads(done.stdout)
    assert found == expected
    assert found[0]
    assert f"strategy merge: {MergeStrategy.method}" in explained


@pytest.mark.slow
def test_without_the_package_the_error_names_the_strategies_that_are_installed():
    done = run("-m", "gpugda", "run", "-a", "sample:wordnet", "--strategy", "merge", QUERIES[0])
    assert done.returncode == 2
    assert "No strategy named 'merge' is installed; there are: 'extend', 'gpsm'" in done.stderr


@pytest.mark.device
@given(cases())
def test_rows_equal_those_of_trying_every_assignment(context, case):
    check_case(MergeStrategy(DeviceGraph(context, case[0])), case)


def test_a_pattern_that_it_cannot_match_is_refused():
    nodes, refused = [Node(), Node()], "strategy merge takes at most 8 relationships"
    for count, said in ((8, None), (9, refused)):
        plan = make_plan(nodes, [Relationship(0, 1)] * count)
        assert MergeStrategy.can_match(plan.bound, Count()) == said
