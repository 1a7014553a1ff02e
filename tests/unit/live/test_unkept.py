"""Properties that cannot be kept are remembered, and forgotten as a followed database changes."""

import pytest

from gpugda.live import unkept
from gpugda.live.unkept import UnkeptProperties
from gpugda.ports import UnkeptPropertyError


@pytest.fixture
def known():
    found = UnkeptProperties()
    with pytest.raises(UnkeptPropertyError), found.reading(of_nodes=True):
        raise UnkeptPropertyError("t", "offsets with seconds")
    return found


def test_a_property_is_refused_again(known):
    known.refuse(["other"], of_nodes=True)
    known.refuse(["t"], of_nodes=False)
    for keys in (["t"], None):
        with pytest.raises(UnkeptPropertyError, match="offsets with seconds"):
            known.refuse(keys, of_nodes=True)


def test_changes_of_the_next_minute_do_not_read_it_again(known):
    known.changed()
    with pytest.raises(UnkeptPropertyError):
        known.refuse(None, of_nodes=True)


def test_later_changes_may_have_mended_it(known, monkeypatch):
    monkeypatch.setattr(unkept, "_KNOWN_SECONDS", -1.0)
    known.changed()
    known.refuse(None, of_nodes=True)
