import pytest
from gpugda_adapters.bolt_privileges import restriction_in


def row(access="GRANTED", action="match", resource="all_properties", graph="*", segment="NODE(*)"):
    return {
        "access": access,
        "action": action,
        "resource": resource,
        "graph": graph,
        "segment": segment,
    }


ALL = [row(), row(segment="RELATIONSHIP(*)")]
ACCESS = row(action="access", resource="database", segment="database")


def test_grants_of_everything_are_no_restriction():
    assert restriction_in([ACCESS, *ALL], "films") == ""
    of_this = [dict(grant, graph="films") for grant in ALL]
    assert restriction_in(of_this, "films") == ""
    apart = [
        row(action=action, resource=resource, segment=segment)
        for action, resource in (("traverse", "graph"), ("read", "all_properties"))
        for segment in ("NODE(*)", "RELATIONSHIP(*)")
    ]
    assert restriction_in(apart, "films") == ""


@pytest.mark.parametrize(
    "privileges",
    [
        [],
        [ACCESS],
        ALL[:1],
        ALL[1:],
        [dict(grant, graph="books") for grant in ALL],
        [dict(grant, graph="HOME") for grant in ALL],
        [dict(grant, resource="property(name)") for grant in ALL],
        [row(segment="NODE(Person)"), ALL[1]],
        [ALL[0], row(segment="RELATIONSHIP(KNOWS)")],
        [row(action="read"), ALL[1]],
        [row(action="traverse", resource="graph"), ALL[1]],
        [{}],
    ],
)
def test_missing_grants_are_a_restriction(privileges):
    assert "no privilege" in restriction_in(privileges, "films")


@pytest.mark.parametrize("action", ["match", "read", "traverse", "access", "graph_actions", "new"])
@pytest.mark.parametrize("graph", ["*", "films", "HOME", "DEFAULT"])
def test_a_denial_is_a_restriction(action, graph):
    denied = row("DENIED", action, "property(ssn)", graph, "NODE(Person)")
    assert "denied" in restriction_in([denied, *ALL], "films")
    assert "denied" in restriction_in([*ALL, denied], "films")


def test_denials_of_other_databases_and_of_writes_are_no_restriction():
    assert restriction_in([*ALL, row("DENIED", graph="books")], "films") == ""
    assert restriction_in([*ALL, row("DENIED", action="set_property")], "films") == ""
