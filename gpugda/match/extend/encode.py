"""Encodes the steps of the strategy ``extend`` for the kernels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.device.launch.derived_lists import NO_HUBS
from gpugda.device.launch.extend import ExtensionKernels, RowKernels, StepArrays, extension_words
from gpugda.device.launch.join import step_words
from gpugda.device.launch.leaf_products import GroupKernels, ProductKernels
from gpugda.device.launch.small_queries import JoinStep, SmallJoin, join_step_words
from gpugda.match.extend.drafts import ExtendKind
from gpugda.match.extend.merged_graph import (
    extension_with_places,
    graph_arguments,
    list_places,
    required_places,
)
from gpugda.plan.comparisons import join_keys
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.derived_lists import HubBitmaps, ListKind, MergedLists
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.extend.merged_graph import MergedGraph, Places, Source
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.launch_size import LaunchSize
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundRelationship
    from gpugda.thresholds import JoinLimits


__all__ = ["JoinKernels", "JoinSetup", "StepWords", "upload_steps"]

_KINDS = {
    ExtendKind.NODES: SmallJoin.MULTIPLIES,
    ExtendKind.EXTEND: SmallJoin.EXTENDS,
    ExtendKind.CLOSE: SmallJoin.EXTENDS,
    ExtendKind.COUNT: SmallJoin.WEIGHS,
    ExtendKind.PRUNE: SmallJoin.PRUNES,
}


@dataclass(slots=True, eq=False)
class StepWords:
    """All steps on the device.

    Args:
        words: The encoded steps.
        arrays: The arrays of each step, by its number.
        plain: For steps without links: the words, and the step's offset in them.
        together: The steps of a `SmallJoin`, and its arrays.
        keys: Keys that comparisons read; None if there are none.
        launches: Launch size of each step, by its number; adapted by all runs.
        outgrew_small_join: True if even the first steps had too many rows for a small join.
    """

    words: DeviceArray
    arrays: Mapping[int, StepArrays]
    plain: Mapping[int, tuple[DeviceArray, int]]
    together: tuple[tuple[JoinStep, ...], StepArrays]
    keys: DeviceArray | None = None
    launches: dict[int, LaunchSize] = field(default_factory=dict)
    outgrew_small_join: bool = False

    def reading(self, graph: list[Any]) -> StepWords:
        """The same steps with other arguments for ``GRAPH_PARAMETERS``."""

        def looks(each: StepArrays) -> StepArrays:
            return each._replace(filter=replace(each.filter, graph=graph))

        steps, arrays = self.together
        own = {number: looks(each) for number, each in self.arrays.items()}
        return replace(self, arrays=own, together=(steps, looks(arrays)))

    def uploaded(self) -> list[DeviceArray]:
        """The device arrays that it holds."""
        return [self.words] if self.keys is None else [self.words, self.keys]


def upload_steps(
    run: Run,
    steps: Sequence[ExtendStep],
    candidates: Candidates,
    keys: Sequence[NDArray[np.uint32]],
    relationships: Sequence[BoundRelationship],
    merged: MergedGraph,
    lists: Mapping[ListKind, MergedLists],
) -> StepWords:
    """Uploads steps; makes bitmaps of the long lists that the steps will read."""
    moved = _MovedSteps(run, steps, relationships, merged, lists)
    words, places = extension_words([*(each.extension for each in steps), *moved.extensions])
    moved_places = places[len(steps) :]
    common = moved.common_places()
    plain_places: dict[int, int] = {}
    for number, step in enumerate(steps):
        if not step.links:
            plain_places[number] = len(words)
            words.extend(step_words(step.kept, ()))
    together = tuple(
        JoinStep(_KINDS[step.kind], place, _max_rows(step, candidates), len(step.variables))
        for step, place in zip(
            steps, places if common is None else moved.in_place(places, moved_places), strict=False
        )
    )
    joined_at = len(words)
    words.extend(join_step_words(together))
    array = run.workspace.upload(np.array(words, dtype=np.uint32), "steps of the join")
    all_keys = None
    if keys:
        all_keys = run.workspace.upload(join_keys(keys), "keys of compared values")
    own = [
        StepArrays(
            candidates.arrays,
            candidates.matrix,
            array,
            place,
            len(step.links),
            _hubs(run, step),
            all_keys,
            len(step.extension.ends),
        )
        for step, place in zip(steps, places, strict=False)
    ]
    arrays = moved.arrays(own, moved_places)
    plain = {n: (array, place) for n, place in plain_places.items()}
    looks = candidates.arrays
    if common is not None:
        looks = replace(looks, graph=graph_arguments(run, lists, common))
    at_all = StepArrays(looks, candidates.matrix, array, joined_at, 0, keys=all_keys)
    return StepWords(array, arrays, plain, (together, at_all), all_keys)


def _max_rows(step: ExtendStep, candidates: Candidates) -> int:
    is_product = step.kind is ExtendKind.NODES
    return candidates.count(step.position) if is_product else step.max_rows


def _hubs(run: Run, step: ExtendStep) -> HubBitmaps:
    if run.graph.context.is_cpu or step.merged or not _looks_at_hubs(step):
        return NO_HUBS
    if not run.placement.is_whole:
        return NO_HUBS
    return run.graph.hub_bitmaps(run.workspace.budget)


def _looks_at_hubs(step: ExtendStep) -> bool:
    return step.searched_only and len(step.links) > 1


class _MovedSteps:
    """The steps that read merged lists, which replace the graph's own lists in the arguments."""

    def __init__(
        self,
        run: Run,
        steps: Sequence[ExtendStep],
        relationships: Sequence[BoundRelationship],
        merged: MergedGraph,
        lists: Mapping[ListKind, MergedLists],
    ) -> None:
        self._run, self._steps, self._merged, self._lists = run, steps, merged, lists
        self._relationships = relationships
        graph = run.graph.graph
        self._numbers = [number for number, each in enumerate(steps) if each.merged]
        self._places = [list_places(steps[each], relationships, graph) for each in self._numbers]
        self.extensions = [
            extension_with_places(steps[number], places, relationships, graph)
            for number, places in zip(self._numbers, self._places, strict=True)
        ]

    def common_places(self) -> Places | None:
        """Lists in both places that suit all steps at once; None if the steps disagree."""
        graph = self._run.graph.graph
        found: tuple[set[Source], set[Source]] = (set(), set())
        if not self._numbers:
            return None
        for step in self._steps:
            for place, source in enumerate(required_places(step, self._relationships, graph)):
                if source is not None:
                    found[place].add(source)
        if any(len(each) > 1 for each in found):
            return None
        outgoing, incoming = (next(iter(each), None) for each in found)
        return outgoing, incoming

    def in_place(self, places: Sequence[int], moved: Sequence[int]) -> list[int]:
        """Offsets of the steps' words; moved steps have the offsets in ``moved``."""
        found = list(places[: len(self._steps)])
        for number, place in zip(self._numbers, moved, strict=True):
            found[number] = place
        return found

    def arrays(self, own: Sequence[StepArrays], at: Sequence[int]) -> dict[int, StepArrays]:
        """Arrays by step number; ``at``: the offsets of the moved steps' words."""
        found = dict(enumerate(own))
        for number, places, place in zip(self._numbers, self._places, at, strict=True):
            found[number] = self._moved(own[number], self._steps[number], places, place)
        return found

    def _moved(
        self, arrays: StepArrays, step: ExtendStep, places: Places, place: int
    ) -> StepArrays:
        run, lists = self._run, self._lists
        graph = graph_arguments(run, lists, places)
        hubs = self._merged.hubs(run, lists, places) if _looks_at_hubs(step) else NO_HUBS
        own = replace(arrays.filter, graph=graph)
        return arrays._replace(filter=own, place=place, hubs=hubs)


class JoinKernels:
    """The kernel launchers, made once per strategy."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self.extensions = ExtensionKernels(context)
        self.rows = RowKernels(context)
        self.products = ProductKernels(context)

    @cached_property
    def groups(self) -> GroupKernels:
        """Made when the first query groups rows."""
        return GroupKernels(self._context)


@value(frozen=True, slots=True, eq=False)
class JoinSetup:
    """One join of one run.

    Args:
        run: The query's run.
        kernels: The strategy's kernels.
        steps: The steps, at least one.
        words: The steps, encoded on the device.
        candidates: Candidates of the query nodes.
        limits: Limits of the join's windows and launches.
    """

    run: Run
    kernels: JoinKernels
    steps: Sequence[ExtendStep]
    words: StepWords
    candidates: Candidates
    limits: JoinLimits
