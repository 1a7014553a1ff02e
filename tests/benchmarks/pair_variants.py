"""How fast can one step test its (row, neighbour) pairs? Variants of one kernel, on triangles alone.

    python tests/benchmarks/pair_variants.py --device NVIDIA [--scales 16,20] [--only rank,bloom]

Plain pyopencl and numpy: rows are all relationships (a, b) of an R-MAT graph, the shorter of their
outgoing lists is the base, the other one is searched. Times are the device's own (profiling events),
best of five; every variant must count the same.
"""

from __future__ import annotations

import argparse
import itertools
import time

import numpy as np
import pyopencl as cl

KNOWN = {16: 21_341_738, 20: 514_254_981, 22: 2_715_559_002}
SOURCE = r"""
typedef global const uint *Words;

static inline ulong above(global const ulong *sums, ulong first, ulong last, ulong wanted) {
    while (first < last) {
        ulong middle = first + (last - first) / 2;
        if (sums[middle] <= wanted) first = middle + 1; else last = middle;
    }
    return first;
}

#ifdef BRANCHLESS
static inline bool is_in(Words v, uint x, uint y, uint wanted) {
    uint left = y - x;
    if (left == 0) return false;
    while (left > 1) {
        uint half_ = left >> 1;
        x += v[x + half_] <= wanted ? half_ : 0;
        left -= half_;
    }
    return v[x] == wanted;
}
#else
static inline bool is_in(Words v, uint x, uint y, uint wanted) {
    uint end = y;
    while (x < y) {
        uint middle = x + (y - x) / 2;
        if (v[middle] < wanted) x = middle + 1; else y = middle;
    }
    return x < end && v[x] == wanted;
}
#endif

kernel void piece_rows(global const ulong *sums, ulong rows, ulong total, ulong piece, global uint *first) {
    for (ulong i = get_global_id(0); i * piece < total; i += get_global_size(0)) {
        first[i] = (uint)(above(sums, 0, rows + 1, i * piece) - 1);
    }
}

static void add_up(ulong total, local ulong *scratch, global ulong *totals) {
    uint item = get_local_id(0);
    scratch[item] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = SIZE / 2; reach > 0; reach /= 2) {
        if (item < reach) scratch[item] += scratch[item + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0) totals[get_group_id(0)] = scratch[0];
}

/* Each item searches the row of its pair among the sums of its piece. */
kernel __attribute__((reqd_work_group_size(SIZE, 1, 1))) void searched(
    Words offsets, Words neighbours, Words starts, Words ends, global const ulong *sums, global const uchar *bases,
    ulong rows, ulong total, global const uint *first_rows, Words hub, Words hub_bits, uint hub_words, global ulong *totals
) {
    local ulong scratch[SIZE];
    local ulong found[2];
    uint item = get_local_id(0);
    ulong sum = 0;
    for (ulong begin = get_group_id(0) * (ulong)PIECE; begin < total; begin += get_num_groups(0) * (ulong)PIECE) {
        ulong end = min(begin + PIECE, total);
        if (item < 2) found[item] = above(sums, 0, rows + 1, item ? end - 1 : begin);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (ulong pair = begin + item; pair < end; pair += SIZE) {
            ulong row = above(sums, found[0] - 1, found[1], pair) - 1;
            uint from = starts[row], other = ends[row];
            if (bases[row]) { uint swapped = from; from = other; other = swapped; }
            uint node = neighbours[offsets[from] + (uint)(pair - sums[row])];
            sum += is_in(neighbours, offsets[other], offsets[other + 1], node);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    add_up(sum, scratch, totals);
}

/* Rows of a piece in local memory, an item's row by a bit per pair and a rank. */
#define PIECE_WORDS (PIECE / 32)
kernel __attribute__((reqd_work_group_size(SIZE, 1, 1))) void ranked(
    Words offsets, Words neighbours, Words starts, Words ends, global const ulong *sums, global const uchar *bases,
    ulong rows, ulong total, global const uint *first_rows, Words hub, Words hub_bits, uint hub_words, global ulong *totals
) {
    local ulong scratch[SIZE];
    local uint bits[PIECE_WORDS], ranks[PIECE_WORDS], shift[SIZE], low[SIZE], high[SIZE];
#ifdef BLOOM
    local uint bloom[BLOOM / 32];
#endif
#ifdef QUEUE
    local uint queue_row[2 * SIZE], queue_node[2 * SIZE], queued;
#endif
    uint item = get_local_id(0);
    ulong sum = 0;
    for (ulong begin = get_group_id(0) * (ulong)PIECE; begin < total; begin += get_num_groups(0) * (ulong)PIECE) {
        ulong end = min(begin + PIECE, total), last = rows;
        if (end < total) last = (ulong)first_rows[begin / PIECE + 1] + 1;
        for (ulong block = first_rows[begin / PIECE]; block < last; block += SIZE) {
            ulong block_begin = max(begin, sums[block]), block_end = min(end, sums[min(block + SIZE, rows)]);
            uint count = (uint)(block_end - block_begin);
            uint start = 0, length = 0, skipped = 0;
            ulong row = block + item;
            if (row < last) {
                ulong s = sums[row], e = sums[row + 1];
                ulong f = max(s, block_begin), t = min(e, block_end);
                if (t > f) { start = (uint)(f - block_begin); length = (uint)(t - f); skipped = (uint)(f - s); }
            }
            for (uint w = item; w < PIECE_WORDS; w += SIZE) bits[w] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (length) atomic_or(&bits[start >> 5], 1u << (start & 31));
            barrier(CLK_LOCAL_MEM_FENCE);
            uint value = item < PIECE_WORDS ? popcount(bits[item]) : 0;
            if (item < PIECE_WORDS) ranks[item] = value;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint reach = 1; reach < PIECE_WORDS; reach *= 2) {
                uint more = item < PIECE_WORDS && item >= reach ? ranks[item - reach] : 0;
                barrier(CLK_LOCAL_MEM_FENCE);
                if (item < PIECE_WORDS) ranks[item] += more;
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            if (item < PIECE_WORDS) ranks[item] -= value;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (length) {
                uint place = ranks[start >> 5] + popcount(bits[start >> 5] & ((1u << (start & 31)) - 1));
                uint from = starts[row], other = ends[row];
                if (bases[row]) { uint swapped = from; from = other; other = swapped; }
                shift[place] = offsets[from] + skipped - start;
                low[place] = offsets[other];
                high[place] = offsets[other + 1];
#ifdef HUBS
                uint number = hub[other];
                if (number != 0xFFFFFFFFu) { low[place] = number; high[place] = 0xFFFFFFFFu; }
#endif
            }
#ifdef BLOOM
            /* The list of the block's first row's start: most rows of the block have the same start. */
            uint one = starts[block], list = offsets[one], list_end = offsets[one + 1];
            bool use = 2 * (list_end - list) < count;
#ifdef HUBS
            use = use && hub[one] == 0xFFFFFFFFu;
#endif
            for (uint w = item; w < BLOOM / 32; w += SIZE) bloom[w] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint e = list + item; e < (use ? list_end : list); e += SIZE) {
                uint n = neighbours[e] % BLOOM;
                atomic_or(&bloom[n >> 5], 1u << (n & 31));
            }
#endif
#ifdef QUEUE
            if (item == 0) queued = 0;
#endif
            barrier(CLK_LOCAL_MEM_FENCE);
#ifdef QUEUE
            for (uint tile = 0; tile < count; tile += SIZE) {
                uint p = tile + item;
                if (p < count) {
                    uint w = p >> 5;
                    uint place = ranks[w] + popcount(bits[w] & (0xFFFFFFFFu >> (31 - (p & 31)))) - 1;
                    uint node = neighbours[p + shift[place]];
                    uint n = node % BLOOM;
                    if (!use || low[place] != list || ((bloom[n >> 5] >> (n & 31)) & 1)) {
                        uint q = atomic_inc(&queued);
                        queue_row[q] = place; queue_node[q] = node;
                    }
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                uint waiting = queued;
                barrier(CLK_LOCAL_MEM_FENCE);
                if (waiting >= SIZE || tile + SIZE >= count) {
                    uint q = waiting >= SIZE ? waiting - SIZE + item : item;
                    if (q < waiting) sum += is_in(neighbours, low[queue_row[q]], high[queue_row[q]], queue_node[q]);
                    if (waiting >= SIZE && tile + SIZE >= count && item < waiting - SIZE) {
                        sum += is_in(neighbours, low[queue_row[item]], high[queue_row[item]], queue_node[item]);
                    }
                    if (item == 0) queued = waiting >= SIZE ? waiting - SIZE : 0;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
            }
#else
            for (uint p = item; p < count; p += SIZE) {
                uint w = p >> 5;
                uint place = ranks[w] + popcount(bits[w] & (0xFFFFFFFFu >> (31 - (p & 31)))) - 1;
                uint node = neighbours[p + shift[place]];
#ifdef NO_SEARCH
                sum += node == low[place];
#else
                uint x = low[place], y = high[place];
#ifdef BLOOM
                uint n = node % BLOOM;
                if (use && x == list) {
                    uint bit = (bloom[n >> 5] >> (n & 31)) & 1;
#ifdef EXACT
                    sum += bit;
                    y = x;
#else
                    y = bit ? y : x;
#endif
                }
#endif
#ifdef HUBS
                bool is_hub = y == 0xFFFFFFFFu;
                /* Some compilers read even where it is none: always read a place that is there. */
                ulong bit_place = is_hub ? (ulong)x * hub_words + (node >> 5) : 0;
                if (is_hub) {
                    sum += (hub_bits[bit_place] >> (node & 31)) & 1;
                    y = x;
                }
#endif
                sum += is_in(neighbours, x, y, node);
#endif
            }
#endif
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    add_up(sum, scratch, totals);
}
"""

# name: (kernel, options). EXACT needs at most as many nodes as the filter has bits.
VARIANTS = {
    "searched": ("searched", ""),
    "searched, branchless": ("searched", "-DBRANCHLESS"),
    "ranked": ("ranked", ""),
    "ranked, branchless": ("ranked", "-DBRANCHLESS"),
    "ranked, bloom 64K": ("ranked", "-DBRANCHLESS -DBLOOM=65536"),
    "ranked, bloom 128K": ("ranked", "-DBRANCHLESS -DBLOOM=131072"),
    "ranked, bloom 64K, exact": ("ranked", "-DBRANCHLESS -DBLOOM=65536 -DEXACT"),
    "ranked, bloom 64K, queue": ("ranked", "-DBRANCHLESS -DBLOOM=65536 -DQUEUE"),
    "ranked, bloom 128K, queue": ("ranked", "-DBRANCHLESS -DBLOOM=131072 -DQUEUE"),
    "ranked, no search (wrong count)": ("ranked", "-DNO_SEARCH"),
    "ranked, hubs": ("ranked", "-DBRANCHLESS -DHUBS"),
    "ranked, hubs, bloom 64K": ("ranked", "-DBRANCHLESS -DHUBS -DBLOOM=65536"),
}


def rmat(scale: int) -> tuple[np.ndarray, np.ndarray, int]:
    drawn = 1_000_000 if scale == 16 else 16 << scale
    random, nodes = np.random.default_rng(1), 1 << scale
    source, target = np.zeros(drawn, np.int64), np.zeros(drawn, np.int64)
    for _ in range(scale):
        quadrant = random.random(drawn)
        source = 2 * source + (quadrant >= 0.76)
        target = 2 * target + (((quadrant >= 0.57) & (quadrant < 0.76)) | (quadrant >= 0.95))
    pairs = np.unique(source * nodes + target)
    pairs = pairs[pairs // nodes != pairs % nodes]
    return (pairs // nodes).astype(np.uint32), (pairs % nodes).astype(np.uint32), nodes


class Step:
    def __init__(self, context: cl.Context, queue: cl.CommandQueue, scale: int) -> None:
        self.context, self.queue = context, queue
        starts, ends, self.nodes = rmat(scale)
        degrees = np.bincount(starts, minlength=self.nodes)
        offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint32)
        bases = degrees[ends] < degrees[starts]
        lengths = np.where(bases, degrees[ends], degrees[starts])
        sums = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
        self.rows, self.total = len(starts), int(sums[-1])
        self.hubs(starts, ends, degrees)
        hosts = (offsets, ends, starts, ends, sums, bases.astype(np.uint8))
        self.buffers = [self.upload(each) for each in hosts]

    def hubs(self, starts: np.ndarray, ends: np.ndarray, degrees: np.ndarray) -> None:
        words = -(-self.nodes // 32)
        most = min((1 << 30) // (4 * words), self.nodes // 8)
        chosen = np.sort(np.argsort(degrees)[-most:])
        chosen = chosen[degrees[chosen] >= 64]
        numbers = np.full(self.nodes, 0xFFFFFFFF, np.uint32)
        numbers[chosen] = np.arange(len(chosen))
        table = np.zeros((len(chosen), words * 4), np.uint8)
        for number, node in enumerate(chosen):
            first, last = np.searchsorted(starts, [node, node + 1])
            flags = np.zeros(words * 32, bool)
            flags[ends[first:last]] = True
            table[number] = np.packbits(flags, bitorder="little")
        self.hub_count, self.hub_words = len(chosen), words
        self.hub, self.hub_bits = (
            self.upload(numbers),
            self.upload(table.view(np.uint32).reshape(-1)),
        )

    def upload(self, values: np.ndarray) -> cl.Buffer:
        buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, max(values.nbytes, 256))
        if values.nbytes:
            cl.enqueue_copy(self.queue, buffer, np.ascontiguousarray(values))
        return buffer

    def run(self, kernel: str, options: str, piece: int, groups: int) -> tuple[float, float, int]:
        options += f" -DSIZE=256 -DPIECE={piece}"
        program = cl.Program(self.context, SOURCE).build(options=options.split())
        count, find = cl.Kernel(program, kernel), cl.Kernel(program, "piece_rows")
        first = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 4 * (self.total // piece + 2))
        totals = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 8 * groups)
        out = np.zeros(groups, np.uint64)
        best = [np.inf, np.inf]
        for _ in range(5):
            find.set_args(
                self.buffers[4],
                np.uint64(self.rows),
                np.uint64(self.total),
                np.uint64(piece),
                first,
            )
            events = [cl.enqueue_nd_range_kernel(self.queue, find, (groups * 256,), (256,))]
            count.set_args(
                *self.buffers,
                np.uint64(self.rows),
                np.uint64(self.total),
                first,
                self.hub,
                self.hub_bits,
                np.uint32(self.hub_words),
                totals,
            )
            events.append(cl.enqueue_nd_range_kernel(self.queue, count, (groups * 256,), (256,)))
            cl.enqueue_copy(self.queue, out, totals)
            taken = [(each.profile.end - each.profile.start) / 1e6 for each in events]
            best = [min(pair) for pair in zip(best, taken, strict=True)]
        return best[1], best[0], int(out.sum())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="")
    parser.add_argument("--scales", default="16")
    parser.add_argument("--only", default="")
    parser.add_argument("--pieces", default="2048,8192")
    parser.add_argument("--groups", default="8,32")
    asked = parser.parse_args()
    devices = itertools.chain.from_iterable(each.get_devices() for each in cl.get_platforms())
    device = next(each for each in devices if asked.device.lower() in each.name.lower())
    context = cl.Context([device])
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    print(device.name, device.max_compute_units, "units", flush=True)
    for scale in map(int, asked.scales.split(",")):
        started = time.perf_counter()
        step = Step(context, queue, scale)
        print(
            f"R-MAT {scale}: {step.rows:,} rows, {step.total:,} pairs, {step.hub_count} hubs; "
            f"made in {time.perf_counter() - started:.0f} s",
            flush=True,
        )
        for name, (kernel, options) in VARIANTS.items():
            if not any(each in name for each in asked.only.split(",")):
                continue
            if "EXACT" in options and step.nodes > 65536:
                continue
            best = None
            for piece, factor in itertools.product(
                map(int, asked.pieces.split(",")), map(int, asked.groups.split(","))
            ):
                try:
                    taken, found, count = step.run(
                        kernel, options, piece, factor * device.max_compute_units
                    )
                except cl.Error as error:
                    print(f"  {name}: {piece}, {factor}: {error}")
                    continue
                right = count == KNOWN.get(scale, count) or "wrong" in name
                text = (
                    f"  {name:32} piece {piece:5} groups {factor:3} a unit {taken:9.3f} ms "
                    f"(+ rows {found:.3f}) {step.total / taken / 1e6:7.1f} G pairs/s"
                    f"{'' if right else f'  WRONG: {count:,}'}"
                )
                print(text, flush=True)
                best = min(best or taken, taken)


if __name__ == "__main__":
    main()
