"""EXPLAIN and PROFILE at the command line."""

import pytest

QUERY = "MATCH (w:Word {name: 'dog'})-[:HAS_SENSE]->(s) RETURN s.name"
RUN = ("run", "-a", "sample:wordnet")


def test_explain_prints_the_plan_in_place_of_rows(gpugda_command):
    outcome = gpugda_command(*RUN, f"EXPLAIN {QUERY}")
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout.splitlines()[0].startswith("project s.name")
    assert "(w:Word)-[:HAS_SENSE]->(s)" in outcome.stdout


@pytest.mark.device
def test_profile_prints_the_plan_after_the_rows(gpugda_command, tmp_path):
    outcome = gpugda_command(*RUN, f"PROFILE {QUERY}")
    assert outcome.stdout.startswith("s.name\n")
    assert "8 rows" in outcome.stdout
    outcome = gpugda_command(*RUN, "--format", "csv", f"PROFILE {QUERY}")
    assert "8 rows" not in outcome.stdout
    assert "8 rows" in outcome.stderr
