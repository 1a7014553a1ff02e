/* Counts squares from one node on a CPU, where a work item marks the opposite nodes: `squares_from`. Needs
   cycle_lists.h. */
#ifdef ON_CPU
/* Branch-free, as the branch would be unpredictable. */
static inline uint mark_list(
    global const uint *neighbours, uint2 list, global uint *restrict marks, global uint *restrict marked, uint size
) {
    for (uint entry = list.x; entry < list.y; ++entry) {
        uint node = neighbours[entry], mark = marks[node];
        marks[node] = mark + 1;
        marked[size] = node;
        size += mark == 0;
    }
    return size;
}

static inline ulong sum_of_list(global const uint *neighbours, uint2 list, global const uint *restrict marks) {
    ulong sum = 0;
    for (uint entry = list.x; entry < list.y; ++entry) sum += marks[neighbours[entry]];
    return sum;
}

/* Marks the nodes of a list, or adds up their marks. */
static inline ulong take_list(
    const Square *square, bool is_incoming, uint2 list, global uint *marks, global uint *marked, uint *size, bool adds
) {
    global const uint *neighbours = neighbours_of(square, is_incoming);
    if (adds) return sum_of_list(neighbours, list, marks);
    *size = mark_list(neighbours, list, marks, marked, *size);
    return 0;
}

/* Follows a link from a node at position 1 or 3 to all fitting nodes before `last`. */
static ulong second_link(
    const Square *square, uint link, uint from, uint last, global uint *marks, global uint *marked, uint *size, bool adds,
    ulong *work
) {
    ulong sum = 0;
    bool is_masked = slot_of(square, link) != NONE;
    Lists lists = all_lists(square, link, false);
    while (next_list(&lists, square, from)) {
        uint2 entries = lists.entries;
        if (last != NONE) entries.y = first_entry_from(square, lists.is_incoming, entries, last);
        *work += entries.y - entries.x;
        if (!is_masked && !lists.takes_loops && has_loops(square)) {
            uint2 loops = entries_to(square, lists.is_incoming, entries, from);
            sum += take_list(square, lists.is_incoming, (uint2)(entries.x, loops.x), marks, marked, size, adds);
            entries.x = loops.y;
        }
        if (!is_masked) {
            sum += take_list(square, lists.is_incoming, entries, marks, marked, size, adds);
            continue;
        }
        for (uint entry = entries.x; entry < entries.y; ++entry) {
            if (!entry_fits(square, &lists, from, entry)) continue;
            sum += take_list(square, lists.is_incoming, (uint2)(entry, entry + 1), marks, marked, size, adds);
        }
    }
    return sum;
}

/* The same for all paths over two links that begin at `from`, at position 0. */
static ulong two_links(
    const Square *square, uint first, uint second, uint from, global uint *marks, global uint *marked, uint *size, bool adds, ulong *work
) {
    ulong sum = 0;
    uint middle = first == 0 ? 1 : 3, last = square->words[FLAGS_AT] & HALVED ? from : NONE;
    Lists lists = all_lists(square, first, true);
    while (next_list(&lists, square, from)) {
        for (uint entry = lists.entries.x; entry < lists.entries.y; ++entry) {
            uint node = neighbours_of(square, lists.is_incoming)[entry];
            if (!fits_place(square, middle, node) || !entry_fits(square, &lists, from, entry)) continue;
            sum += second_link(square, second, node, last, marks, marked, size, adds, work);
        }
    }
    return sum;
}

/* The number of homomorphisms with `from` at position 0 and another node at position 2. */
static ulong squares_from(const Square *square, uint from, global uint *marks, global uint *marked, ulong *work) {
    uint size = 0;
    ulong sum = 0;
    two_links(square, 0, 1, from, marks, marked, &size, false, work);
    marks[from] = 0;
    if (square->words[ROWS_AT + 2] != NONE) {
        for (uint i = 0; i < size; ++i) {
            if (!fits_place(square, 2, marked[i])) marks[marked[i]] = 0;
        }
    }
    if (square->words[FLAGS_AT] & SYMMETRIC) {
        for (uint i = 0; i < size; ++i) sum += (ulong)marks[marked[i]] * marks[marked[i]];
    } else if (size) {
        sum = two_links(square, 3, 2, from, marks, marked, &size, true, work);
    }
    for (uint i = 0; i < size; ++i) marks[marked[i]] = 0;
    return square->words[FLAGS_AT] & HALVED ? 2 * sum : sum;
}
#endif
