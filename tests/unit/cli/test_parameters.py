from __future__ import annotations

import pytest

from gpugda.cli.parameters import parse_parameters
from gpugda.errors import ConfigurationError


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("n=1", {"n": 1}),
        ("n => 1", {"n": 1}),
        ("n=>-1", {"n": -1}),
        (":n: 1", {"n": 1}),
        ("`odd name`=1", {"odd name": 1}),
        ("x=1.5", {"x": 1.5}),
        ("x=1.0", {"x": 1.0}),
        ("x=9223372036854775807", {"x": 2**63 - 1}),
        ("x=-9223372036854775808", {"x": -(2**63)}),
        ("b=true", {"b": True}),
        ("b=null", {"b": None}),
        ("s='Ann'", {"s": "Ann"}),
        ('s="A = b"', {"s": "A = b"}),
        ('s="it\'s \\\\ \\n"', {"s": "it's \\ \n"}),
        ("l=[1, 'a', [null]]", {"l": [1, "a", [None]]}),
        ("m={a: 1, `b c`: {d: []}}", {"m": {"a": 1, "b c": {"d": []}}}),
        ('{"a": 1, "b c": [1.5, "x", true]}', {"a": 1, "b c": [1.5, "x", True]}),
        ("{a: 1, b: 'x'}", {"a": 1, "b": "x"}),
        ("{}", {}),
        ("0=1", {"0": 1}),
    ],
)
def test_parameter_values_are_parsed(argument, expected):
    found = parse_parameters([argument])
    assert found == expected
    assert [type(value) for value in found.values()] == [type(v) for v in expected.values()]


def test_later_parameters_override_earlier_ones():
    assert parse_parameters(["a=1", "{a: 2, b: 3}", "b=4"]) == {"a": 2, "b": 4}


@pytest.mark.parametrize("argument", ["a", "=1", "a=", "", "a b=1", "-=1"])
def test_malformed_parameters_are_refused(argument):
    with pytest.raises(ConfigurationError, match="name=value"):
        parse_parameters([argument])


@pytest.mark.parametrize(
    "argument",
    [
        "a=Ann",
        "a=1 AS b, 2",
        "a=1) AS b MATCH (n",
        "a=n.x",
        "a=$b",
        "a=[1",
        "a=99999999999999999999",
        '{"a": 99999999999999999999}',
    ],
)
def test_parameters_without_a_literal_value_are_refused(argument):
    with pytest.raises(ConfigurationError, match="is no value"):
        parse_parameters([argument])


def test_parameters_come_from_a_file(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"a": 1.50, "b": ["x", null]}', encoding="utf-8-sig")
    assert parse_parameters([f"@{path}", "b=2"]) == {"a": 1.5, "b": 2}
    path.write_text("[1]")
    for name, message in ((path, "no map of parameters"), (tmp_path / "missing", "cannot be read")):
        with pytest.raises(ConfigurationError, match=message):
            parse_parameters([f"@{name}"])


def test_errors_name_the_file_of_parameters(tmp_path):
    (tmp_path / "bad.json").write_text('{"x": ')
    with pytest.raises(ConfigurationError, match=r"-P @.*bad\.json: .* is no value"):
        parse_parameters([f"@{tmp_path / 'bad.json'}"])
    with pytest.raises(ConfigurationError, match=r"none\.json cannot be read: No such file or dir"):
        parse_parameters([f"@{tmp_path / 'none.json'}"])
