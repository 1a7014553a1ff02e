"""The README's examples run and print the output that it shows."""

import doctest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_examples_of_the_readme_run(walks):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = doctest.DocTestParser().get_doctest(
        text.replace("```", ""), {}, "README.md", None, 0
    )
    assert len(examples.examples) >= 8
    flags = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    runner = doctest.DocTestRunner(optionflags=flags)
    failed, _ = runner.run(examples)
    examples.globs.clear()
    assert not failed


def test_the_first_example_is_within_30_lines():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert any(">>> for record in result" in line for line in lines[:30])
