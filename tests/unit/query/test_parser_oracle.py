"""The parser against antlr4-cypher, an independent grammar of openCypher 9.

Both decide whether a text is Cypher. Where they differ, ``corpus/oracle_*.txt`` gives the reason;
the queries there and in the other files were also run on Neo4j 5.26, which decided.
"""

from pathlib import Path

import pytest
from antlr4 import CommonTokenStream, InputStream
from antlr4.error.ErrorListener import ErrorListener
from antlr4_cypher import CypherLexer, CypherParser
from hypothesis import given, settings
from hypothesis import strategies as st

from gpugda.errors import CypherSyntaxError
from gpugda.query.parser import parse
from strategies import examples

CORPUS = Path(__file__).parent / "corpus"


def corpus(name):
    lines = (CORPUS / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


class _Errors(ErrorListener):
    def __init__(self):
        self.count = 0

    def syntaxError(self, *_):
        self.count += 1


def oracle_accepts(text):
    errors = _Errors()
    lexer = CypherLexer(InputStream(text))
    lexer.removeErrorListeners()
    lexer.addErrorListener(errors)
    parser = CypherParser(CommonTokenStream(lexer))
    parser.removeErrorListeners()
    parser.addErrorListener(errors)
    parser.script()
    return errors.count == 0


def accepts(text):
    try:
        parse(text)
    except CypherSyntaxError:
        return False
    return True


@pytest.mark.parametrize("text", corpus("accepted.txt"))
def test_queries_accepted_by_the_oracle_are_accepted(text):
    parse(text)
    assert oracle_accepts(text)


@pytest.mark.parametrize("text", corpus("refused.txt"))
def test_queries_refused_by_the_oracle_are_refused(text):
    assert not accepts(text)
    assert not oracle_accepts(text)


@pytest.mark.parametrize("text", corpus("oracle_refuses.txt"))
def test_known_queries_that_only_this_parser_accepts(text):
    parse(text)
    assert not oracle_accepts(text), "the oracle agrees by now: move this line to accepted.txt"


@pytest.mark.parametrize("text", corpus("oracle_accepts.txt"))
def test_known_queries_that_only_the_oracle_accepts(text):
    assert not accepts(text)
    assert oracle_accepts(text), "the oracle agrees by now: move this line to refused.txt"


def test_the_corpus_is_large():
    assert sum(len(corpus(path.name)) for path in CORPUS.glob("*.txt")) > 600


# ------------------------------------------------------------------ generated texts
# Only constructs of both grammars: no keyword as a name, no predicate after a predicate.
NAMES = st.sampled_from(["a", "b", "n1", "foo", "`x y`", "Ünï"])
LITERALS = st.sampled_from(["1", "0", "-7", "1.5", "2e3", "'x'", '"y"', "true", "null", "$p", "[]"])
ATOMS = st.one_of(LITERALS, NAMES, st.builds("{}.{}".format, NAMES, NAMES))


def _compound(inner):
    several = st.lists(inner, max_size=3).map(", ".join)
    return st.one_of(
        st.builds("({})".format, inner),
        st.builds("[{}]".format, several),
        st.builds("foo({})".format, several),
        st.builds("({}) {} ({})".format, inner, OPERATORS, inner),
        st.builds("{} {} {}".format, ATOMS, OPERATORS, ATOMS),
        st.builds("NOT ({})".format, inner),
        st.builds("({}) IS NOT NULL".format, inner),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, inner, inner, inner),
        st.builds("{{a: {}, b: {}}}".format, inner, inner),
        st.builds("({})[{}]".format, inner, inner),
        st.builds("[x IN ({}) WHERE {} | {}]".format, inner, inner, inner),
        st.builds("{}:A:B".format, NAMES),
    )


SYMBOLS = ["=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "^", "\n+\n"]
WORDS = ["AND", "and", "OR", "XOR", "IN", "CONTAINS", "STARTS WITH", "ENDS WITH"]
OPERATORS = st.sampled_from(SYMBOLS + WORDS)
EXPRESSIONS = st.recursive(ATOMS, _compound, max_leaves=8)

LABELS = st.sampled_from(["", ":A", ":A:B", ":`C D`"])
MAPS = st.one_of(st.just(""), st.builds(" {{x: {}}}".format, ATOMS))
NODES = st.builds("({}{}{})".format, st.one_of(st.just(""), NAMES), LABELS, MAPS)
DETAILS = st.builds(
    "[{}{}{}{}]".format,
    st.one_of(st.just(""), NAMES),
    st.sampled_from(["", ":R", ":R|S"]),
    st.sampled_from(["", "*", "*2", "*1..3", "*..3", "*1.."]),
    MAPS,
)
ARROWS = st.builds(
    "{}-{}-{}".format,
    st.sampled_from(["", "<"]),
    st.one_of(st.just(""), DETAILS),
    st.sampled_from(["", ">"]),
)
PATHS = st.builds(
    lambda first, hops: first + "".join(arrow + node for arrow, node in hops),
    NODES,
    st.lists(st.tuples(ARROWS, NODES), max_size=3),
)
QUERIES = st.builds(
    "MATCH {}{} WHERE {} RETURN {}{}".format,
    st.sampled_from(["", "p = "]),
    PATHS,
    EXPRESSIONS,
    EXPRESSIONS,
    st.sampled_from([" AS q ORDER BY q DESC SKIP 1 LIMIT 2", " AS q", ", 2 AS q"]),
)


@settings(max_examples=examples(60), deadline=None)
@given(QUERIES)
def test_generated_queries_are_accepted_by_both(text):
    assert oracle_accepts(text)
    parse(text)


@settings(max_examples=examples(60), deadline=None)
@given(QUERIES, st.data())
def test_generated_queries_without_a_bracket_are_refused_by_both(text, data):
    brackets = [i for i, character in enumerate(text) if character in "()[]{}"]
    cut = data.draw(st.sampled_from(brackets))
    damaged = text[:cut] + text[cut + 1 :]
    assert not accepts(damaged)
    assert not oracle_accepts(damaged)
