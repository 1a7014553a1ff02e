import pytest
from gpugda_adapters.bolt_address import SCHEMES, parse_address

from gpugda.errors import ConfigurationError


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_is_parsed(scheme):
    found = parse_address(f" {scheme.upper()}://Host.example ")
    assert found.scheme == scheme
    assert found.shown == found.url == f"{scheme}://host.example:7687"
    assert found.routed == scheme.startswith("neo4j")


def test_port_ipv6_and_routing_context_are_parsed():
    assert parse_address("bolt://[::1]:1234/").url == "bolt://[::1]:1234"
    found = parse_address("neo4j://host:1?policy=eu")
    assert found.url == "neo4j://host:1?policy=eu"
    assert found.shown == "neo4j://host:1"


@pytest.mark.parametrize(
    "text",
    ["bolt://me:Secret@host", "bolt://me:Sec/ret@host:1", "neo4j+s://Secret@host", "x:Secret@y"],
)
def test_credentials_are_refused_and_not_repeated(text):
    with pytest.raises(ConfigurationError, match="auth=") as caught:
        parse_address(text)
    assert "Sec" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("http://host", "no known scheme"),
        ("", "no known scheme"),
        ("host:7687", "no known scheme"),
        ("bolt://host:abc", "no address"),
        ("bolt://host:99999", "no address"),
        ("bolt://host:0", "no host or port"),
        ("bolt://[::1", "no address"),
        ("bolt://", "names no host"),
        ("bolt:7687", "names no host"),
        ("bolt://host/movies", "database="),
        ("bolt://host#x", "database="),
        ("bolt://host?policy=eu", "only neo4j://"),
    ],
)
def test_malformed_addresses_are_refused(text, said):
    with pytest.raises(ConfigurationError, match=said):
        parse_address(text)
