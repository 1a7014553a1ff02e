"""Arrays that change from state to state, in every way in which arrays of rows change."""

import numpy as np

from gpugda.data.patches.changing import renumbered, spliced, stepped
from gpugda.data.patches.patched import whole
from gpugda.data.patches.splice import Splice


def random_splice(random, count, changes):
    removed = np.unique(random.integers(0, count, min(changes, count))) if count else np.empty(0)
    places = np.sort(random.integers(0, count + 1, changes))
    return Splice(count, removed.astype(np.int64), places)


def chain(random, count, changes, change):
    """An array and its later states; one of them is materialised on the host on the way."""
    states = [change.start(random, count)]
    for step in range(4):
        states.append(change(random, states[-1], changes))
        if step == 1:
            whole(states[-1])
    return states


class Spliced:
    """Entries are inserted and removed."""

    dtype = np.uint32

    def start(self, random, count):
        return random.integers(0, 1 << 16, count).astype(self.dtype)

    def __call__(self, random, array, changes):
        splice = random_splice(random, len(array), changes)
        return spliced(array, splice, random.integers(0, 1 << 16, len(splice.places)))


class Halves(Spliced):
    dtype = np.uint16


class Stepped(Spliced):
    """Offsets also increase and decrease."""

    def __call__(self, random, array, changes):
        array = super().__call__(random, array, changes)
        places = np.sort(random.integers(0, len(array) + 1, changes))
        return stepped(array, places, random.integers(-3, 4, changes))


class Renumbered:
    """A permutation: each number moves from its old position to its new one."""

    def start(self, random, count):
        return random.permutation(count).astype(np.uint32)

    def __call__(self, random, array, changes):
        splice = random_splice(random, len(array), changes)
        gone = np.flatnonzero(np.isin(whole(array), splice.removed))
        places = np.sort(random.integers(0, len(array) + 1, len(splice.places)))
        moved = renumbered(array, splice)
        return spliced(moved, Splice(len(array), gone, places), splice.new_places())
