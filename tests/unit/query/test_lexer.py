import pytest

from gpugda.errors import CypherSyntaxError
from gpugda.query.lexer import tokenise


def kinds(text):
    return [token[0] for token in tokenise(text)][:-3]


def pieces(text):
    return [token[1] for token in tokenise(text)][:-3]


def test_keywords_are_case_insensitive():
    assert kinds("match Foo _x1") == ["MATCH", "FOO", "_X1"]


def test_a_word_that_only_upper_cases_to_a_keyword_is_a_name():
    assert kinds("w\u0131th") == ["name"]  # its upper case is WITH


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<>", ["<>"]),
        ("a<-1", ["A", "<", "-", "number"]),
        ("a<=b", ["A", "<=", "B"]),
        ("-->", ["-", "-", ">"]),
        ("|:", ["|", ":"]),
        ("||", ["||"]),
        ("::", ["::"]),
        ("=~", ["=~"]),
    ],
)
def test_symbols_are_as_long_as_possible(text, expected):
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1..3", ["1", "..", "3"]),
        ("..3", ["..", "3"]),
        ("1.5", ["1.5"]),
        (".5", [".5"]),
        ("1.e3", ["1", ".", "e3"]),
        ("1e-3", ["1e-3"]),
        ("1e", ["1e"]),
        ("1-2", ["1", "-", "2"]),
        ("0x1F", ["0x1F"]),
        ("1.5e+3.x", ["1.5e+3", ".", "x"]),
        ("12abc", ["12abc"]),
    ],
)
def test_numbers_end_where_a_range_or_a_property_begins(text, expected):
    assert pieces(text) == expected


def test_comments_and_blanks_leave_no_tokens():
    assert pieces("a /* b \n * c */ d // e\n\u00a0f") == ["a", "d", "f"]


def test_a_comment_ends_with_its_line_and_not_before():
    assert pieces("a // ' \" ` /*\rb") == ["a", "b"]


def test_backticks_are_removed_and_doubled_ones_unescaped():
    assert tokenise("`a ``b``\nc`")[0][:2] == ("quoted", "a `b`\nc")


def test_strings_may_span_lines_and_hold_the_other_quote():
    assert pieces("'a\n\"b\\'c' \"d'\"") == ["'a\n\"b\\'c'", '"d\'"']


def test_places_are_offsets_in_the_text():
    assert tokenise("RETURN  n")[1] == ("N", "n", 8, 9)


def test_unicode_names_and_currency_signs_are_words():
    assert pieces("été 变量 a$b x€") == ["été", "变量", "a$b", "x€"]


def test_invisible_characters_are_part_of_a_name_but_cannot_start_it():
    assert pieces("n.x\u200b<> n\u200d\ufeffy") == ["n", ".", "x\u200b", "<>", "n\u200d\ufeffy"]
    with pytest.raises(CypherSyntaxError, match=r"U\+200B"):
        pieces("RETURN \u200bx")


def test_typographic_dashes_are_arrow_lines():
    assert kinds("\u2013\u27e9\u3008") == ["arrow line", "arrow right", "arrow left"]


@pytest.mark.parametrize(
    ("text", "start", "said"),
    [
        ("RETURN 'abc", 7, "string is never closed"),
        ('RETURN "abc\\"', 7, "string is never closed"),
        ("RETURN `abc", 7, "backtick is never closed"),
        ("RETURN 1 /* abc *", 9, "comment is never closed"),
        ("RETURN ``", 7, "must not be empty"),
        ("RETURN a\u00b2", 8, "U+00B2"),
        ("RETURN a\u0000", 8, "U+0000"),
        ("RETURN #", 7, "NUMBER SIGN"),
        ("RETURN \u2018a\u2019", 7, "typographic quotes"),
    ],
)
def test_unknown_characters_are_refused_at_their_place(text, start, said):
    with pytest.raises(CypherSyntaxError, match=said.replace("+", "\\+")) as caught:
        tokenise(text)
    assert caught.value.span.start == start


@pytest.mark.parametrize("text", ["RETURN \\u0031", "RETURN 1 // \\u000a", "RETURN `\\u0041`"])
def test_escapes_outside_strings_are_refused_because_versions_differ(text):
    with pytest.raises(CypherSyntaxError, match="outside a string") as caught:
        tokenise(text)
    assert caught.value.span.start == text.index("\\")


def test_a_doubled_backslash_is_no_escape():
    assert pieces("/* \\\\u0041 it's */ 'C:\\\\users'") == ["'C:\\\\users'"]


def test_an_unclosed_string_full_of_backslashes_takes_linear_time():
    with pytest.raises(CypherSyntaxError):
        tokenise("'" + "a\\\\" * 100_000)


@pytest.mark.parametrize("text", ["RETURN '\ud800'", "MATCH (a:`\udc00`) RETURN a", "// \ud83d\n"])
def test_an_unpaired_surrogate_is_refused_at_its_place(text):
    with pytest.raises(CypherSyntaxError, match="half a surrogate pair") as raised:
        tokenise(text)
    assert not text[raised.value.span.start].isprintable()
