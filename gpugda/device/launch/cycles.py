"""Counts cycles of three and four query nodes on a CPU, in all or per node.

Work items take tasks of a few nodes each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gpugda.device.launch.query_words import NONE
from gpugda.device.program import GRAPH, get_kernel
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = [
    "FLAGS_AT",
    "MAX_PARALLEL",
    "MAX_TYPES",
    "UPWARDS",
    "CycleKernels",
    "CycleTasks",
    "CycleType",
    "GroupTasks",
    "HigherNeighbours",
    "Members",
    "SingleWalkKernels",
    "SquareArrays",
    "SquareKernels",
    "SquareSumKernels",
    "TriangleKernels",
    "TriangleSumKernels",
    "cycle_words",
    "share_of_nodes",
    "triangle_words",
]

_TASKS_PER_ITEM = 64


@value(frozen=True, slots=True, eq=False)
class CycleTasks:
    """Tasks of a few nodes that work items, or groups, take from a counter, and their memory.

    Args:
        counters: ``uint32``, the first one counts the tasks taken; the others are those of a share.
        scratch: ``uint32``, a number of words per item or group, zero before the first launch.
        nodes: The number of nodes of the data graph.
        max_work: Maximum number of entries that an item or group reads per launch.
        totals: ``uint64``, one per item or group.
    """

    counters: DeviceArray
    scratch: DeviceArray
    nodes: int
    max_work: int
    totals: DeviceArray

    @classmethod
    def new(
        cls,
        workspace: Workspace,
        words: int,
        nodes: int,
        max_work: int,
        takers: int,
        share: tuple[int, int] = (0, 1),
    ) -> CycleTasks:
        """New tasks with ``words`` of scratch and one total per taker.

        ``share``: a number, and of how many; only kernels that say so obey it.
        """
        scratch = workspace.allocate(words, np.uint32, "marks of nodes")
        counters = workspace.upload(np.array([0, *share], dtype=np.uint32), "counters")
        totals = workspace.allocate(takers, np.uint64, "sums")
        for each in (scratch, totals):
            workspace.fill(each, 0)
        return cls(counters, scratch, nodes, max_work, totals)

    def start_again(self, workspace: Workspace) -> None:
        """No task is taken; totals stay."""
        workspace.write(self.counters, np.zeros(1, dtype=np.uint32))

    def total(self, workspace: Workspace, *, whole: bool = False) -> int:
        """The sum of the totals, modulo 2**64 unless ``whole``; releases the arrays."""
        totals = workspace.download(self.totals)
        found = sum(totals.tolist()) if whole else int(totals.sum(dtype=np.uint64))
        self.release(workspace)
        return found

    def release(self, workspace: Workspace) -> None:
        """Releases the arrays."""
        workspace.release(self.scratch, self.counters, self.totals)


def share_of_nodes(nodes: int, takers: int, tasks_each: int, most: int) -> int:
    """Number of nodes of a task: small, as hubs have close node indexes in many graphs.

    Args:
        nodes: The number of nodes.
        takers: The number of items, or groups, that take tasks.
        tasks_each: The number of tasks that each of them should take if there are enough nodes.
        most: Maximum nodes of a task.
    """
    return max(1, min(most, nodes // (tasks_each * takers)))


class GroupTasks:
    """Base class of kernels whose work groups take tasks of a few nodes.

    Args:
        context: The device.
    """

    groups_per_unit: ClassVar[int]
    """Work groups per compute unit that keep the device busy."""
    tasks: ClassVar[int] = 1 << 18
    """Tasks that work groups take, if there are enough nodes: the same for devices of any size."""
    max_task_nodes: ClassVar[int] = 16

    def __init__(self, context: DeviceContext) -> None:
        self._context = context

    @property
    def max_groups(self) -> int:
        """The number of work groups that keeps the device busy."""
        return self._context.info.compute_units * self.groups_per_unit

    def task_nodes(self, nodes: int) -> int:
        """Nodes of a task."""
        return max(1, min(self.max_task_nodes, nodes // self.tasks))


class CycleKernels:
    """A single kernel whose work items take tasks, for a CPU.

    Args:
        context: The device.
        file: The kernel's file.
        name: The kernel's name.
        parameters: As in `get_kernel`.
    """

    def __init__(self, context: DeviceContext, file: str, name: str, parameters: str) -> None:
        self._context = context
        self._count = get_kernel(context, file, name, parameters)

    @property
    def item_count(self) -> int:
        """The number of work items that count."""
        return self._context.info.compute_units * self._context.profile.task_items_per_unit

    def task_nodes(self, nodes: int) -> int:
        """Nodes of a task."""
        return share_of_nodes(nodes, self.item_count, _TASKS_PER_ITEM, 64)


MAX_TYPES = 8
"""Relationship types of all four links together; ``MAX_LISTS`` counts both directions."""

FLAGS_AT = 8
UPWARDS = 16
"""Flag of a triangle; see ``cycle_lists.h``."""

_SYMMETRIC, _HAS_LOOPS, _MEET_AT_ODD, _HALVED = 1, 2, 4, 8


@value(frozen=True, slots=True)
class CycleType:
    """A relationship type, with one bit per link that it fits.

    Args:
        type_id: The type.
        starting: Links that fit if the relationship starts at the link's even position.
        ending: Links that fit if it ends there.
    """

    type_id: int
    starting: int
    ending: int


def cycle_words(
    rows: Sequence[int | None],
    slots: Sequence[int | None],
    types: Sequence[CycleType],
    differ: Sequence[tuple[int, int]],
    *,
    has_loops: bool,
    halves: bool = True,
) -> list[int]:
    """Encodes a cycle for the kernels.

    Args:
        rows: Candidate matrix rows of the four positions; None if every node fits.
        slots: Relationship mask slots of the four links.
        types: At most `MAX_TYPES`.
        differ: Pairs of links, the lower one first, that must be different relationships.
        has_loops: True if the data graph has loops of these types.
        halves: True to count only half of the squares if they are symmetric, and double the result.
    """
    same = _Symmetry(rows, slots, types)
    over_both = same.places(1, 3) and same.links((0, 3), (1, 2))
    turned = same.places(0, 2) and (
        (same.places(1, 3) and same.links((0, 2), (1, 3))) or same.links((0, 1), (2, 3))
    )
    flags = _SYMMETRIC if over_both else 0
    flags |= _HALVED if turned and halves else 0
    flags |= _HAS_LOOPS if has_loops else 0
    flags |= _MEET_AT_ODD if _meet_at_odd(types, differ, has_loops) else 0
    tests = sum(1 << (4 * one + other) for one, other in differ)
    partitions = _partitions(differ)
    words = [NONE if each is None else each for each in (*rows, *slots)]
    words += [flags, tests, len(types), len(partitions)]
    for each in types:
        words += [each.type_id, each.starting, each.ending]
    for blocks, coefficient in partitions.items():
        words += [coefficient & NONE, *blocks, *[0] * (4 - len(blocks))]
    return words


@value(frozen=True, slots=True)
class _Symmetry:
    """Tells which positions, and which links, have equal conditions; masked ones never have."""

    rows: Sequence[int | None]
    slots: Sequence[int | None]
    types: Sequence[CycleType]

    def places(self, *places: int) -> bool:
        return all(self.rows[each] is None for each in places)

    def links(self, *pairs: tuple[int, int]) -> bool:
        return all(self.slots[link] is None for pair in pairs for link in pair) and all(
            (links >> one & 1) == (links >> other & 1)
            for each in self.types
            for links in (each.starting, each.ending)
            for one, other in pairs
        )


def _meet_at_odd(
    types: Sequence[CycleType], differ: Sequence[tuple[int, int]], has_loops: bool
) -> bool:
    """True if two links from one odd node to even positions could take the same relationship."""
    together = [links for each in types for links in (each.starting, each.ending)]
    if has_loops:  # loops fit in both directions
        together += [each.starting | each.ending for each in types]
    return any(
        pair in differ and links >> pair[0] & links >> pair[1] & 1
        for links in together
        for pair in ((0, 3), (1, 2))
    )


def _partitions(differ: Sequence[tuple[int, int]]) -> dict[tuple[int, ...], int]:
    """Coefficients of inclusion-exclusion by the blocks of links that take the same relationship.

    They are the product of (1 - [two links are the same]) over all pairs that must differ,
    expanded.
    """
    found: dict[tuple[int, ...], int] = {(1, 2, 4, 8): 1}
    for one, other in differ:
        for blocks, coefficient in list(found.items()):
            merged = _merged(blocks, one, other)
            found[merged] = found.get(merged, 0) - coefficient
    return {blocks: coefficient for blocks, coefficient in found.items() if coefficient}


def _merged(blocks: tuple[int, ...], one: int, other: int) -> tuple[int, ...]:
    together = 0
    rest = []
    for block in blocks:
        if block >> one & 1 or block >> other & 1:
            together |= block
        else:
            rest.append(block)
    return tuple(sorted((*rest, together)))


class SquareKernels(CycleKernels):
    """Counts squares on a CPU."""

    def __init__(self, context: DeviceContext) -> None:
        super().__init__(context, "squares.cl", "count_squares", f"{GRAPH}bbIbIIIQbbb")

    def item_words(self, nodes: int, *, has_loops: bool) -> int:
        """Scratch words of an item."""
        return (4 if has_loops else 2) * nodes + 1

    def count(
        self, arrays: FilterArrays, candidates: DeviceArray, words: DeviceArray, tasks: CycleTasks
    ) -> None:
        """Takes tasks; adds their counts to ``totals``."""
        self._count.launch_groups(
            self.item_count,
            *arrays.graph,
            words,
            arrays.relationship_masks,
            arrays.relationship_words,
            candidates,
            arrays.words,
            tasks.nodes,
            self.task_nodes(tasks.nodes),
            tasks.max_work,
            tasks.scratch,
            tasks.counters,
            tasks.totals,
        )


MAX_PARALLEL = 255
"""Maximum number of relationships between two nodes: a mark is a byte."""

_ALL_LINKS = 0b1111


def triangle_words(types: Iterable[int], *, has_loops: bool, upwards: bool = False) -> list[int]:
    """Encodes a triangle for the kernels; at most ``MAX_TYPES`` types.

    ``upwards``: True for ``(a)-->(b)-->(c)<--(a)`` in a graph without directed cycles.
    """
    found = [CycleType(each, _ALL_LINKS, 0 if upwards else _ALL_LINKS) for each in types]
    words = cycle_words([None] * 4, [None] * 4, found, [], has_loops=has_loops)
    words[FLAGS_AT] |= UPWARDS if upwards else 0
    return words


class TriangleKernels(CycleKernels):
    """Counts triangles on a CPU."""

    def __init__(self, context: DeviceContext) -> None:
        super().__init__(context, "triangles.cl", "count_triangles", f"{GRAPH}bIIQbbb")

    def item_words(self, nodes: int, *, has_loops: bool) -> int:
        """Scratch words of an item."""
        return -(-nodes // 4)

    def count(
        self,
        arrays: FilterArrays,
        candidates: DeviceArray,
        words: DeviceArray,
        tasks: CycleTasks,
    ) -> None:
        """Takes tasks; adds their counts to ``totals``."""
        self._count.launch_groups(
            self.item_count,
            *arrays.graph,
            words,
            tasks.nodes,
            self.task_nodes(tasks.nodes),
            tasks.max_work,
            tasks.scratch,
            tasks.counters,
            tasks.totals,
        )


class SingleWalkKernels:
    """Counts the cycles of each node at position 0."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._count = get_kernel(
            context, "single_walks.cl", "count_single_walks", f"{GRAPH}bbIbbbbIIb"
        )

    @property
    def item_count(self) -> int:
        """The number of work items that count."""
        return self._context.info.compute_units * self._context.profile.task_items_per_unit

    def count(
        self,
        arrays: FilterArrays,
        candidates: DeviceArray,
        words: DeviceArray,
        along: Sequence[Any],
        pairs: Any,
        nodes: tuple[int, int],
        totals: DeviceArray,
    ) -> None:
        """Adds the number of cycles that contain these nodes at position 0.

        Args:
            arrays: Arrays of the query.
            candidates: The candidate matrix.
            words: From `cycle_words`.
            along: ``uint32`` per node of the data graph: its only companion at positions 1, 2 and
                3, `NONE` if there is none.
            pairs: ``uint32``, number of relationships between pairs of nodes, see
                ``single_walks.cl``.
            nodes: The first one and the one after the last.
            totals: ``uint64``, one per item.
        """
        first, last = nodes
        self._count.launch_groups(
            self.item_count,
            *arrays.graph,
            words,
            candidates,
            arrays.words,
            *along,
            pairs,
            first,
            last - first,
            totals,
        )


_SQUARE_SUMS_FILE = "square_sums.cl"
_SQUARE = f"{GRAPH}bbIbI"


@value(frozen=True, slots=True, eq=False)
class SquareArrays:
    """A square, and the output for its sums.

    Args:
        filter: Arrays of the query.
        matrix: The candidate matrix.
        words: From `cycle_words`, without the option to halve.
        nodes: ``uint32``, data nodes at position 0.
        first: Index of the first one to process.
        listed: The number of them.
        sums: ``uint32``, three words for each of them.
        first_word: Position of the first sum.
    """

    filter: FilterArrays
    matrix: DeviceArray
    words: DeviceArray
    nodes: DeviceArray
    first: int
    listed: int
    sums: DeviceArray
    first_word: int

    @property
    def square(self) -> tuple[Any, ...]:
        """The first arguments of every kernel."""
        arrays = self.filter
        masks = arrays.relationship_masks, arrays.relationship_words
        return *arrays.graph, self.words, *masks, self.matrix, arrays.words, arrays.node_count


class SquareSumKernels(GroupTasks):
    """Adds up squares by the node at position 0."""

    groups_per_unit, tasks, max_task_nodes = 4, 1 << 15, 64

    def __init__(self, context: DeviceContext) -> None:
        super().__init__(context)
        self._sum = get_kernel(context, _SQUARE_SUMS_FILE, "sum_squares", f"{_SQUARE}IbIIIQbbbQ")
        self._measure = get_kernel(context, _SQUARE_SUMS_FILE, "measure_odd_ends", f"{_SQUARE}Ib")
        self._correct = get_kernel(
            context, _SQUARE_SUMS_FILE, "correct_square_sums", f"{_SQUARE}IbIIbbQ"
        )

    @property
    def max_groups(self) -> int:
        """The number of work groups that keeps the device busy."""
        profile = self._context.profile
        each = profile.task_items_per_unit if profile.group_size == 1 else self.groups_per_unit
        return self._context.info.compute_units * each

    def group_words(self, nodes: int) -> int:
        """Scratch words of a work group."""
        return 2 * nodes + 1 if self._context.profile.group_size == 1 else nodes

    def sum(
        self,
        arrays: SquareArrays,
        groups: int,
        max_work: int,
        scratch: DeviceArray,
        counters: DeviceArray,
    ) -> None:
        """Takes tasks, and writes the sums of their nodes; `correct` must follow.

        Args:
            arrays: The square and its output.
            groups: The number of work groups.
            max_work: Maximum number of entries that a group reads in one launch.
            scratch: ``uint32[groups * group_words(…)]``, zero before the first launch.
            counters: ``uint32``, the first one counts the tasks taken.
        """
        self._sum.launch_groups(
            groups,
            *arrays.square,
            arrays.nodes,
            arrays.first,
            arrays.listed,
            self.task_nodes(arrays.listed),
            max_work,
            scratch,
            counters,
            arrays.sums,
            arrays.first_word,
        )

    def correct(self, arrays: SquareArrays, odd_ends: DeviceArray) -> None:
        """Corrects the sums to those of squares; overwrites ``odd_ends``, ``int64[2 * nodes]``."""
        nodes = arrays.filter.node_count
        self._measure(nodes, *arrays.square, odd_ends)
        listed = arrays.nodes, arrays.first, arrays.listed
        sums = arrays.sums, arrays.first_word
        self._correct(arrays.listed, *arrays.square, *listed, odd_ends, *sums)


_TRIANGLE_SUMS_FILE = "triangle_sums.cl"
_MEMBERS = f"{GRAPH}bbb"

_MAX_TASK_MEMBERS = 64


@value(frozen=True, slots=True, eq=False)
class Members:
    """The nodes whose triangles are counted.

    Args:
        filter: Arrays of the query.
        words: From `triangle_words`.
        bits: ``uint32``, a bit per node of the data graph.
        ranks: ``uint64``, the number of members before those of each word.
    """

    filter: FilterArrays
    words: DeviceArray
    bits: DeviceArray
    ranks: DeviceArray

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Arguments of kernels that read the data graph."""
        return *self.filter.graph, self.words, self.bits, self.ranks


@value(frozen=True, slots=True, eq=False)
class HigherNeighbours:
    """For each member, its neighbours of higher degree.

    Args:
        members: The number of members.
        starts: ``uint64``, start of each list.
        counts: ``uint32``, length of each list.
        entries: ``uint32``, numbers of members.
    """

    members: int
    starts: DeviceArray
    counts: DeviceArray
    entries: DeviceArray

    @property
    def arrays(self) -> tuple[DeviceArray, ...]:
        """Arguments of the kernels."""
        return self.starts, self.counts, self.entries


class TriangleSumKernels:
    """Adds up triangles by their nodes, on a CPU."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._unite = get_kernel(context, _TRIANGLE_SUMS_FILE, "unite_candidates", "bIIIIb")
        self._measure = get_kernel(
            context, _TRIANGLE_SUMS_FILE, "measure_members", f"{_MEMBERS}Ibb"
        )
        self._list = get_kernel(context, _TRIANGLE_SUMS_FILE, "list_higher", f"{_MEMBERS}Ibbbbb")
        self._sum = get_kernel(context, _TRIANGLE_SUMS_FILE, "sum_triangles", "IIQbbbbQb")
        self._write = get_kernel(context, _TRIANGLE_SUMS_FILE, "write_triangle_sums", "bbbIIbQIbQ")

    @property
    def max_items(self) -> int:
        """Number of work items that keeps the device busy; few, as their scratch is long."""
        return int(self._context.info.compute_units)

    def item_words(self, members: int) -> int:
        """Scratch words of an item: an even number, as sums have two."""
        return 3 * members + members % 2

    def task_members(self, members: int, items: int) -> int:
        """Members of a task."""
        return share_of_nodes(members, items, _TASKS_PER_ITEM, _MAX_TASK_MEMBERS)

    def unite(
        self, matrix: DeviceArray, words: int, rows: tuple[int, int, int], bits: DeviceArray
    ) -> None:
        """Writes the union of three rows of the candidate matrix: ``uint32[words]``."""
        self._unite(words, matrix, words, *rows, bits)

    def measure(self, members: Members, nodes: DeviceArray, lengths: DeviceArray) -> None:
        """Writes the node of each member, and its degree; both ``uint32``."""
        words = members.filter.words
        self._measure(words, *members.arguments, words, nodes, lengths)

    def list_higher(
        self, members: Members, nodes: DeviceArray, lengths: DeviceArray, higher: HigherNeighbours
    ) -> None:
        """Writes the lists and their lengths.

        Args:
            members: The nodes.
            nodes: Output of `measure`.
            lengths: Output of `measure`.
            higher: The lists; its starts are the prefix sums of the lengths.
        """
        count = higher.members
        self._list(count, *members.arguments, count, nodes, lengths, *higher.arrays)

    def sum(
        self,
        higher: HigherNeighbours,
        items: int,
        max_work: int,
        scratch: DeviceArray,
        counters: DeviceArray,
    ) -> None:
        """Takes tasks, and adds up the triangles of their members.

        Args:
            higher: The lists.
            items: The number of work items.
            max_work: Maximum number of entries that an item reads in one launch.
            scratch: ``uint32[items * item_words(…)]``, zero before the first launch.
            counters: ``uint32``, the first one counts the tasks taken.
        """
        count = higher.members
        self._sum.launch_groups(
            items,
            count,
            self.task_members(count, items),
            max_work,
            *higher.arrays,
            scratch,
            self.item_words(count),
            counters,
        )

    def write(
        self,
        members: Members,
        higher: HigherNeighbours,
        listed: tuple[DeviceArray, int, int],
        scratch: tuple[DeviceArray, int],
        place: tuple[DeviceArray, int],
    ) -> None:
        """Writes twice the number of triangles of the listed nodes.

        Args:
            members: The nodes.
            higher: Their lists.
            listed: ``uint32`` nodes, the position of the first one, and the number of them.
            scratch: Scratch as left by `sum`, and the number of items.
            place: ``uint32``, three words per listed node; position of the first.
        """
        (kept, items), words = scratch, self.item_words(higher.members)
        bits = members.bits, members.ranks
        self._write(listed[2], *bits, *listed, kept, words, items, *place)
