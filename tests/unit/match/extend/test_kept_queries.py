"""Queries kept on the device: how many, how many bytes, and which are evicted first."""

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from gpugda.match.extend.cache import KeptQueries


class Kept(SimpleNamespace):
    """A query that holds a number of bytes, and more after a run."""

    def is_of(self, masks):
        return self.masks == masks

    def count_bytes(self):
        self.nbytes = self.after


BOUNDS = [object(), object(), object()]
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "drop", "drop but"]),
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    max_size=30,
)


@given(ACTIONS, st.integers(0, 4), st.integers(0, 40))
def test_the_cache_keeps_the_most_recent_queries(actions, most, max_bytes):
    kept, expected = KeptQueries(most), []
    for action, place, masks, size, after in actions:
        bound = BOUNDS[place]
        found = kept.find(bound, masks)
        known = [each for each in expected if each.bound is bound and each.masks == masks]
        assert ([] if found is None else [found]) == known
        if action != "ask":
            but = found if action == "drop but" else None
            before = kept.nbytes
            assert kept.drop(but) == before - kept.nbytes
            expected = [each for each in expected if each is but]
        elif found is None:
            found = Kept(bound=bound, masks=masks, nbytes=size, after=after)
            kept.add(found, max_bytes)
            expected.append(found)
            while expected and (
                len(expected) > most or sum(each.nbytes for each in expected) > max_bytes
            ):
                expected.pop(0)
        else:
            expected = [*(each for each in expected if each is not found), found]
        if found is not None:
            kept.recount(found)
        assert kept.nbytes == sum(each.nbytes for each in expected)
