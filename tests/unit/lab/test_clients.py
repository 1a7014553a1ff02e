"""The comparison of clients' test outcomes."""

from __future__ import annotations

from lab.clients import read_outcomes

PLAIN = """<testsuites><testsuite>
<testcase classname="a" name="one"/>
<testcase classname="a" name="two"/>
<testcase classname="a" name="three"><skipped/></testcase>
<testcase classname="b" name="one"><failure>wrong</failure></testcase>
<testcase classname="b" name="two"/>
</testsuite></testsuites>"""
ACCELERATED = """<testsuites><testsuite>
<testcase classname="a" name="one"/>
<testcase classname="a" name="two"><failure>wrong</failure></testcase>
<testcase classname="a" name="three"/>
<testcase classname="b" name="one"><failure>wrong</failure></testcase>
<testcase classname="b" name="two"/>
<testcase classname="b" name="two"><error>in its teardown</error></testcase>
</testsuite></testsuites>"""


def test_outcomes_of_a_report():
    found = read_outcomes(PLAIN)
    assert found.passed == {"a::one", "a::two", "b::two"}
    assert found.failed == {"b::one"}
    assert found.skipped == {"a::three"}


def test_tests_that_pass_with_the_first_driver_only():
    plain, accelerated = read_outcomes(PLAIN), read_outcomes(ACCELERATED)
    assert plain.lost(accelerated) == ["a::two", "b::two"]
    assert plain.lost(plain) == []
