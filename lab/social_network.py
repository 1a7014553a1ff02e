"""Generates a graph of the social network's shape: labels, types, skews and correlations.

Sizes are those of `SIZES` at scale 1 (4 million nodes, 18 million relationships). The same scale
and seed give the same graph. `docs/benchmark.md` has the recipe. Draws are in `drawing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.errors import ConfigurationError
from lab.drawing import Lists, Order, drawn, popularity, skewed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Indexes = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["SIZES", "SocialNetwork", "social_network"]

FIXED = {
    "Continent": 6,
    "Country": 111,
    "City": 1_343,
    "University": 6_380,
    "Company": 1_575,
    "TagClass": 71,
    "Tag": 16_080,
}
"""Node counts that do not grow with the scale. Below the scale `_FULL` they are smaller, because
the persons of a small graph would otherwise have nothing in common."""
GROWING = {"Person": 11_000, "Forum": 100_000, "Post": 1_250_000, "Comment": 2_620_000}
SIZES = {**FIXED, **GROWING}

_FULL = 0.1
_LARGEST = 100.0
_KNOWN, _INTERESTS, _MEMBERS, _LIKES = 20.5, 23, 18, 0.44
"""Means: KNOWS per person (each stored once), interests, members per forum, likes per message."""
_ACTIVITY, _FORUM, _POPULARITY = 1.17, 1.58, 1.2
"""Standard deviations of logarithms: persons' activity, forums' sizes, messages' popularity."""
_NEAR = 40.0
"""Mean distance of friends in the order of places or interests, in persons of mean activity."""
_GENERATIONS = (0.5, 0.25, 0.15, 0.1)
"""Shares of comments that reply to a post, to a comment on a post, and so on."""


@dataclass(frozen=True)
class SocialNetwork:
    """The graph. Nodes are 0…n-1; those of one label are contiguous.

    Args:
        labels: By label, the first node and one past the last; a post or comment is also a message.
        ends: By type and the labels of both ends, source and target nodes.
    """

    labels: Mapping[str, tuple[int, int]]
    ends: Mapping[tuple[str, str, str], tuple[Indexes, Indexes]]

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return max(last for _, last in self.labels.values())

    @property
    def relationship_count(self) -> int:
        """The number of relationships."""
        return sum(len(source) for source, _ in self.ends.values())

    def of_type(self, name: str, *starts: str) -> tuple[Indexes, Indexes]:
        """Source and target of all relationships of a type, or of those from some source labels."""
        found = [
            ends
            for (kind, start, _), ends in self.ends.items()
            if kind == name and (not starts or start in starts)
        ]
        sources, targets = zip(*found, strict=True)
        return np.concatenate(sources), np.concatenate(targets)


def social_network(scale: float = 1.0, seed: int = 1) -> SocialNetwork:
    """Generates the graph.

    Raises:
        ConfigurationError: The scale is not above 0, or is above 100.
    """
    if not 0 < scale <= _LARGEST:
        raise ConfigurationError(
            f"The scale is {scale:g}; it must be above 0 and at most {_LARGEST:g} "
            "(1 has 4 million nodes)."
        )
    return _Maker(_counts(scale), np.random.default_rng([seed, 7])).made()


def _counts(scale: float) -> dict[str, int]:
    share = min(1.0, scale / _FULL)
    fixed = {label: max(3, round(count * share)) for label, count in FIXED.items()}
    return fixed | {label: max(4, round(count * scale)) for label, count in GROWING.items()}


class _Maker:
    """Uses node numbers within a label; at the end, each label gets its range of nodes."""

    def __init__(self, counts: Mapping[str, int], rng: np.random.Generator) -> None:
        self.counts, self.rng = counts, rng
        self.ends: dict[tuple[str, str, str], tuple[Indexes, Indexes]] = {}
        persons = counts["Person"]
        self.activity = popularity(rng, persons, _ACTIVITY)
        self.places = Order(self.activity, np.arange(persons))
        self.tastes = Order(self.activity, rng.permutation(persons))

    def made(self) -> SocialNetwork:
        self._places()
        self._persons()
        self._tags()
        self._forums()
        self._posts()
        self._comments()
        self._message_tags()
        self._likes()
        last = np.cumsum(list(self.counts.values())).tolist()
        ranges = {
            label: (end - count, end)
            for (label, count), end in zip(self.counts.items(), last, strict=True)
        }
        ends = {
            (name, start, end): (source + ranges[start][0], target + ranges[end][0])
            for (name, start, end), (source, target) in self.ends.items()
        }
        return SocialNetwork(ranges, ends)

    def _each(self, name: str, start: str, end: str, targets: Indexes) -> None:
        """Adds one relationship from each node of a label."""
        self.ends[name, start, end] = np.arange(len(targets)), targets

    def _pairs(self, name: str, start: str, end: str, source: Indexes, target: Indexes) -> None:
        """Adds relationships, at most one per pair of source and target."""
        width = self.counts[end]
        keys = unique_values(source * width + target)
        self.ends[name, start, end] = keys // width, keys % width

    def _places(self) -> None:
        counts, rng = self.counts, self.rng
        self._each("IS_PART_OF", "Country", "Continent", _any(rng, "Continent", counts, "Country"))
        # Sorted, so that persons sorted by city are also sorted by country.
        cities = np.sort(skewed(rng, counts["Country"], counts["City"], 0.6))
        self._each("IS_PART_OF", "City", "Country", cities)
        self.country_of_city = cities
        self._each("IS_LOCATED_IN", "University", "City", _any(rng, "City", counts, "University"))
        self._each("IS_LOCATED_IN", "Company", "Country", _any(rng, "Country", counts, "Company"))

    def _persons(self) -> None:
        counts, rng, persons = self.counts, self.rng, self.counts["Person"]
        home = np.sort(skewed(rng, counts["City"], persons, 0.5))
        self._each("IS_LOCATED_IN", "Person", "City", home)
        self.country_of_person = self.country_of_city[home]
        self._knows()
        for name, end, mean in (("STUDY_AT", "University", 0.8), ("WORK_AT", "Company", 2.2)):
            who = np.repeat(np.arange(persons), rng.poisson(mean, persons))
            self._pairs(name, "Person", end, who, rng.integers(0, counts[end], len(who)))

    def _knows(self) -> None:
        """Friends: close by place (45 %), close by taste (45 %), or random (10 %)."""
        rng, persons = self.rng, self.counts["Person"]
        one = drawn(rng, self.activity, round(_KNOWN * persons))
        kind = rng.choice(3, len(one), p=(0.45, 0.45, 0.1))
        two = drawn(rng, self.activity, len(one))
        for which, order in enumerate((self.places, self.tastes)):
            two[kind == which] = order.near(rng, one[kind == which], _NEAR)
        different = one != two
        low, high = np.minimum(one, two)[different], np.maximum(one, two)[different]
        self._pairs("KNOWS", "Person", "Person", low, high)
        low, high = self.ends["KNOWS", "Person", "Person"]
        self.friends = Lists(
            np.concatenate([low, high]), np.concatenate([high, low]), self.counts["Person"]
        )

    def _tags(self) -> None:
        counts, rng, persons = self.counts, self.rng, self.counts["Person"]
        classes = skewed(rng, counts["TagClass"], counts["Tag"], 0.7)
        self._each("HAS_TYPE", "Tag", "TagClass", classes)
        above = np.arange(1, counts["TagClass"])
        self.ends["IS_SUBCLASS_OF", "TagClass", "TagClass"] = above, above // 3
        mean = _INTERESTS * popularity(rng, persons, 0.6)
        often = rng.poisson(np.minimum(mean, counts["Tag"] / 4))
        who = np.repeat(np.arange(persons), often)
        self._pairs("HAS_INTEREST", "Person", "Tag", who, self._tag(len(who)))

    def _tag(self, count: int) -> Indexes:
        return skewed(self.rng, self.counts["Tag"], count, 0.75)

    def _forums(self) -> None:
        counts, rng, forums = self.counts, self.rng, self.counts["Forum"]
        owner = drawn(rng, self.activity, forums)
        self._each("HAS_MODERATOR", "Forum", "Person", owner)
        fame = np.minimum(_MEMBERS * popularity(rng, forums, _FORUM), counts["Person"] / 4)
        forum = np.repeat(np.arange(forums), np.maximum(1, rng.poisson(fame)))
        member = self.places.near(rng, owner[forum], np.maximum(_NEAR, 2 * fame[forum]))
        self._pairs("HAS_MEMBER", "Forum", "Person", forum, member)
        self.members = Lists(*self.ends["HAS_MEMBER", "Forum", "Person"], forums)
        tagged = np.repeat(np.arange(forums), 1 + rng.poisson(2.4, forums))
        self._pairs("HAS_TAG", "Forum", "Tag", tagged, self._tag(len(tagged)))
        self.forum_tags = Lists(*self.ends["HAS_TAG", "Forum", "Tag"], forums)

    def _posts(self) -> None:
        """Posts; a forum's share follows its size; members write them."""
        rng, posts = self.rng, self.counts["Post"]
        self.forum_of_post = np.sort(drawn(rng, self.members.sizes.astype(float), posts))
        forum = self.forum_of_post
        self.ends["CONTAINER_OF", "Forum", "Post"] = forum, np.arange(posts)
        self.post_author = self.members.any_of(rng, forum)
        self._messages("Post", self.post_author)
        self.post_fame = popularity(rng, posts, _POPULARITY)

    def _comments(self) -> None:
        """Comments, generation by generation; four of five reply to a friend."""
        rng, comments = self.rng, self.counts["Comment"]
        bounds = np.round(np.cumsum((0.0, *_GENERATIONS)) * comments).astype(int).tolist()
        self.parents: list[tuple[str, Indexes, Indexes]] = []
        author = np.zeros(comments, np.int64)
        self.comment_fame = popularity(rng, comments, _POPULARITY)
        fame, authors, first, end = self.post_fame, self.post_author, 0, "Post"
        for low, high in pairwise(bounds):
            mine = np.arange(low, high)
            parent = np.sort(drawn(rng, fame, len(mine)))
            stranger = drawn(rng, self.activity, len(mine))
            friend = self.friends.any_of(rng, authors[parent])
            author[mine] = np.where((rng.random(len(mine)) < 0.8) & (friend >= 0), friend, stranger)
            self.parents.append((end, mine, parent + first))
            fame, authors, first, end = self.comment_fame[mine], author[mine], low, "Comment"
        _, replies, parent = self.parents[0]
        self.ends["REPLY_OF", "Comment", "Post"] = replies, parent
        others = self.parents[1:]
        self.ends["REPLY_OF", "Comment", "Comment"] = (
            np.concatenate([mine for _, mine, _ in others]),
            np.concatenate([parent for _, _, parent in others]),
        )
        self._messages("Comment", author)

    def _messages(self, label: str, author: Indexes) -> None:
        self._each("HAS_CREATOR", label, "Person", author)
        home = self.country_of_person[author]
        abroad = self.rng.random(len(author)) < 0.1
        home[abroad] = self.rng.integers(0, self.counts["Country"], int(abroad.sum()))
        self._each("IS_LOCATED_IN", label, "Country", home)

    def _message_tags(self) -> None:
        """Adds tags to half of the posts, mostly their forum's; replies repeat some."""
        rng, posts = self.rng, self.counts["Post"]
        tagged = np.flatnonzero(rng.random(posts) < 0.5)
        post = np.repeat(tagged, 1 + rng.poisson(0.6, len(tagged)))
        tag = self._tag(len(post))
        same = rng.random(len(post)) < 0.7
        tag[same] = self.forum_tags.any_of(rng, self.forum_of_post[post[same]])
        self._pairs("HAS_TAG", "Post", "Tag", post, tag)
        known = Lists(*self.ends["HAS_TAG", "Post", "Tag"], posts)
        sources, targets, first = [], [], 0
        for _, mine, parent in self.parents:
            reply, tag = self._reply_tags(known, parent - first)
            known, first = Lists(reply, tag, len(mine)), int(mine[0]) if len(mine) else first
            sources.append(reply + first)
            targets.append(tag)
        self._pairs("HAS_TAG", "Comment", "Tag", np.concatenate(sources), np.concatenate(targets))

    def _reply_tags(self, known: Lists, parent: Indexes) -> tuple[Indexes, Indexes]:
        rng = self.rng
        chance = np.where(known.sizes[parent] > 0, 0.5, 0.2)
        tagged = np.flatnonzero(rng.random(len(parent)) < chance)
        reply = np.repeat(tagged, 1 + rng.poisson(0.5, len(tagged)))
        inherited = known.any_of(rng, parent[reply])
        repeats = (rng.random(len(reply)) < 0.4) & (inherited >= 0)
        return reply, np.where(repeats, inherited, self._tag(len(reply)))

    def _likes(self) -> None:
        rng = self.rng
        for label, fame in (("Post", self.post_fame), ("Comment", self.comment_fame)):
            message = np.repeat(np.arange(len(fame)), rng.poisson(_LIKES * fame))
            who = drawn(rng, self.activity, len(message))
            self._pairs("LIKES", "Person", label, who, message)


def _any(rng: np.random.Generator, end: str, counts: Mapping[str, int], start: str) -> Indexes:
    return rng.integers(0, counts[end], counts[start])
