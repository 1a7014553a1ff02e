import pytest

from gpugda.query.reads import parameter_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("RETURN 1", ()),
        ("MATCH (n {a: $x, b: $`y z`}) WHERE '$no' = $1 AND $x > 0 /* $no */", ("x", "y z", "1")),
        ("RETURN $ x // $no", ("x",)),
        ("RETURN 'open $x", None),
    ],
)
def test_parameter_names_are_found_in_a_text(text, names):
    assert parameter_names(text) == names
