import neo4j
import pytest
from gpugda_adapters.bolt_auth import check_name, choose_auth, choose_database
from neo4j.auth_management import AuthManagers

from gpugda.errors import ConfigurationError

BOTH = {"NEO4J_USERNAME": "ann", "NEO4J_PASSWORD": "Secret"}


def test_the_argument_comes_before_the_environment():
    assert choose_auth(("bob", "pw"), BOTH) == neo4j.basic_auth("bob", "pw")
    assert choose_auth(["bob", ""], BOTH) == neo4j.basic_auth("bob", "")
    assert choose_auth(None, BOTH) == neo4j.basic_auth("ann", "Secret")
    assert choose_auth(None, {}) is None


@pytest.mark.parametrize(
    "auth",
    [
        neo4j.bearer_auth("token"),
        neo4j.kerberos_auth("ticket"),
        neo4j.custom_auth("p", "c", "r", "s"),
        AuthManagers.static(("bob", "pw")),
    ],
)
def test_auth_objects_of_the_driver_are_passed_on(auth):
    assert choose_auth(auth, BOTH) is auth


@pytest.mark.parametrize(
    "auth", ["Secret", ("Secret",), ("a", "Secret", "c"), ("a", 5), 5, {"a": "Secret"}, object()]
)
def test_other_values_are_refused_and_not_repeated(auth):
    with pytest.raises(ConfigurationError, match="basic_auth") as caught:
        choose_auth(auth, {})
    assert "Secret" not in str(caught.value)


@pytest.mark.parametrize("missing", ["NEO4J_USERNAME", "NEO4J_PASSWORD"])
def test_a_user_without_a_password_in_the_environment_is_an_error(missing):
    with pytest.raises(ConfigurationError, match=f"{missing} is not") as caught:
        choose_auth(None, {**BOTH, missing: ""})
    assert "Secret" not in str(caught.value)


def test_the_database_argument_comes_before_the_environment():
    variables = {"NEO4J_DATABASE": "films"}
    assert choose_database("books", variables) == "books"
    assert choose_database(None, variables) == "films"
    assert choose_database(None, {"NEO4J_DATABASE": " "}) is None
    for wrong in ("", " ", 5):
        with pytest.raises(ConfigurationError, match="database is"):
            choose_database(wrong, variables)
    assert choose_database("system", {}) == "system"


def test_an_empty_name_is_refused():
    assert check_name("impersonated_user", None) is None
    assert check_name("impersonated_user", "joe") == "joe"
    with pytest.raises(ConfigurationError, match="impersonated_user is ''"):
        check_name("impersonated_user", "")
