"""Queries that Neo4j does not compile: one wording and code, whatever stands around the mistake."""

from pathlib import Path

import pytest

from gpugda.errors import CypherSyntaxError
from gpugda.query.prepare import prepare

LINES = Path(__file__).with_name("mistakes.txt").read_text("utf-8").splitlines()
WRITTEN = [line for line in LINES if line and not line.startswith("#")]
MISTAKES = [
    (text, *said.split(maxsplit=2)) for text, said in zip(WRITTEN[::2], WRITTEN[1::2], strict=True)
]
AROUND = {
    "alone": "{}",
    "after UNWIND": "UNWIND [1, 2] AS `other one` {}",
    "after WITH": "MATCH (`other one`) WITH count(*) AS `other one` {}",
    "after OPTIONAL MATCH": "OPTIONAL MATCH (`other one`)-[*1..2]->() {}",
    "in COUNT": "MATCH (`other one`) RETURN COUNT {{ {} }} AS n",
    "in EXISTS": "MATCH (`other one`) WHERE EXISTS {{ {} }} RETURN 1 AS n",
    "first of UNION": "{} UNION RETURN 1 AS n",
    "last of UNION": "RETURN 1 AS n UNION ALL {}",
}
IN_SCOPE = "no variables in scope"
"""True of a query alone only: the others have a variable before it."""


def refused(text):
    with pytest.raises(CypherSyntaxError) as caught:
        prepare(text)
    return caught.value


@pytest.mark.parametrize(("text", "status", "column", "message"), MISTAKES)
def test_a_mistake_is_worded_alike_wherever_it_stands(text, status, column, message):
    for place, around in AROUND.items():
        if IN_SCOPE in message and place not in ("alone", "first of UNION", "last of UNION"):
            continue
        error = refused(around.format(text))
        assert error.message == message, place
        assert (error.gql_status or "-") == status, place
        assert error.span.start == around.format(text).index(text) + int(column) - 1, place


def test_there_are_many_mistakes():
    assert len(MISTAKES) > 70
