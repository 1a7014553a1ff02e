/* Extending partial embeddings row by row, where all links of a step are plain sorted lists of neighbours (see extension.h).

       count_fitting     one item per candidate of the bound end: how many of its neighbours are candidates
       count_leaves      one item per row: counts its new rows from that, less what the tests exclude
       intersect_rows    a few items that take rows from a counter: intersects lists by marks for the slowly changing ones

   counters[0] counts rows that were appended, counters[1] tasks that were taken. With `weighs` a row is not extended, but appended
   with the number of its new rows (see weigh.cl).
   Links are in the order in which their nodes were bound: the last one changes fastest from row to row.
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"
#include "query_graph.h"
#include "extension.h"
#include "row_ranges.h"

#define MOST_EXCLUDED 16
#define FOUND 256

/* The nodes that the tests exclude for a row, none twice. Each test has the added node in one of its pairs, or in both. */
static uint excluded_nodes(const Step *step, ulong row, uint *excluded) {
    uint count = 0;
    for (uint test = step->tests; test < step->tests_end; test += TEST_WORDS) {
        if (step->words[test + 2] & COMPARES) continue;
        uint node = NONE;
        bool holds = true;
        for (uint pair = test; pair <= test + 3; pair += 3) {
            uint left = step->words[pair], right = step->words[pair + 1];
            if (left == NONE) continue;
            if (left != step->width && right != step->width) {
                holds = holds && old_value(step, row, left) == old_value(step, row, right);
                continue;
            }
            uint other = old_value(step, row, left == step->width ? right : left);
            holds = holds && (node == NONE || node == other);
            node = other;
        }
        for (uint i = 0; i < count; ++i) holds = holds && excluded[i] != node;
        if (holds) excluded[count++] = node;
    }
    return count;
}

/* The entries of a link that is one sorted list. */
static inline uint2 list_of(const Step *step, uint link, uint from) {
    return plain_list(step, link, step->words[link + LINK_DIRECTIONS] & INCOMING, from);
}

static inline global const uint *list_neighbours(const Step *step, uint link) {
    return neighbours_of(step, step->words[link + LINK_DIRECTIONS] & INCOMING);
}

/* ------------------------------------------------------------------ leaves */
kernel void count_fitting(
    STEP_PARAMETERS, global const uint *nodes, ulong first_node, ulong count, global uint *fitting
) {
    const Step step = STEP_ARGUMENTS;
    global const uint *neighbours = list_neighbours(&step, step.links);
    FOR_EACH(i, count) {
        uint node = nodes[first_node + i], total = 0;
        uint2 list = list_of(&step, step.links, node);
        for (uint entry = list.x; entry < list.y; ++entry) total += has_bit(step.row_bits, neighbours[entry]);
        fitting[node] = total;
    }
}

#ifdef ON_CPU
#define GROUP_SIZE 1
#else
#define GROUP_SIZE 256
#endif

kernel void count_leaves(STEP_PARAMETERS, ulong row_count, global const uint *fitting, global ulong *totals) {
    const Step step = STEP_ARGUMENTS;
    global const uint *neighbours = list_neighbours(&step, step.links);
    local ulong scratch[GROUP_SIZE];
    ulong total = 0;
    uint excluded[MOST_EXCLUDED], item = get_local_id(0);
    FOR_EACH(row, row_count) {
        uint from = old_value(&step, row, words[step.links]);
        uint2 list = list_of(&step, step.links, from);
        RowRanges ranges;
        if (!ranges_of_row(&step, row, step.tests, step.tests_end, &ranges)) continue;
        list = within_ranges(&ranges, neighbours, list);
        total += step.row_bits ? fitting[from] : list.y - list.x;
        uint count = excluded_nodes(&step, row, excluded);
        for (uint i = 0; i < count; ++i) {
            if (step.row_bits && !has_bit(step.row_bits, excluded[i])) continue;
            uint entry = first_place_from(neighbours, list.x, list.y, excluded[i]);
            for (; entry < list.y && neighbours[entry] == excluded[i]; ++entry) --total;
        }
    }
    scratch[item] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = GROUP_SIZE / 2; reach > 0; reach /= 2) {
        if (item < reach) scratch[item] += scratch[item + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0) totals[get_group_id(0)] += scratch[0];
}

/* ------------------------------------------------------------------ intersections */
#ifdef ON_CPU
typedef struct {
    /* What all links but the last have in common, and are candidates: a byte per node, and a list. A byte is found faster
       than a bit, and most lists are looked at many times. */
    global uchar *marks;
    global uint *list;
    uint size;
    bool is_built;
} Prefix;

typedef struct {
    global uint *extended;
    ulong stride;
    volatile global uint *appended;
} Output;

static inline bool is_in(global const uint *values, uint2 list, uint wanted) {
    uint place = first_place_from(values, list.x, list.y, wanted);
    return place < list.y && values[place] == wanted;
}

static inline bool same_prefix(const Step *step, ulong row, ulong other) {
    for (uint number = 0; number + 1 < step->link_count; ++number) {
        uint column = step->words[link_at(step, number)];
        if (old_value(step, row, column) != old_value(step, other, column)) return false;
    }
    return true;
}

static void clear(Prefix *prefix) {
    for (uint i = 0; i < prefix->size; ++i) prefix->marks[prefix->list[i]] = 0;
    prefix->size = 0;
    prefix->is_built = false;
}

/* A search costs about as much as looking at so many neighbours one after the other, to mark one as so many. What an item has
   done until it stops is reckoned by less: there most searched lists lie in a cache. */
#define SEARCH_COST 64
#define MARK_COST 4
#define SEARCH_WORK 16

/* What the first `count` links of a row have in common, as far as it is within `ranges`: goes through the shortest list and
   searches the others. */
#define COMMON_OF(step, row, count, within, node, body) \
    { \
        uint2 lists[MOST_LINKS]; \
        uint shortest = 0; \
        for (uint l = 0; l < count; ++l) { \
            lists[l] = list_of(step, link_at(step, l), old_value(step, row, (step)->words[link_at(step, l)])); \
            lists[l] = within_ranges(within, list_neighbours(step, link_at(step, l)), lists[l]); \
            if (lists[l].y - lists[l].x < lists[shortest].y - lists[shortest].x) shortest = l; \
        } \
        global const uint *base = list_neighbours(step, link_at(step, shortest)); \
        for (uint entry = lists[shortest].x; entry < lists[shortest].y; ++entry) { \
            uint node = base[entry]; \
            if ((step)->row_bits && !has_bit((step)->row_bits, node)) continue; \
            if ((within)->range_count && !passes_ranges(within, node)) continue; \
            bool is_common = true; \
            for (uint l = 0; l < count && is_common; ++l) { \
                if (l != shortest) is_common = is_in(list_neighbours(step, link_at(step, l)), lists[l], node); \
            } \
            if (is_common) body \
        } \
        work += (ulong)(lists[shortest].y - lists[shortest].x) * (count > 1 ? SEARCH_WORK : 1); \
    }

static ulong build(const Step *step, ulong row, Prefix *prefix) {
    ulong work = 0;
    clear(prefix);
    prefix->is_built = true;
    RowRanges ranges;
    if (!ranges_of_links(step, row, step->tests, step->tests_end, step->link_count - 1, &ranges)) return 0;
    COMMON_OF(step, row, step->link_count - 1, &ranges, node, {
        prefix->marks[node] = 1;
        prefix->list[prefix->size++] = node;
    })
    return work;
}

static void write_found(const Step *step, ulong row, const uint *found, uint count, const Output *output) {
    ulong place = atomic_add(output->appended, count);
    for (uint i = 0; i < count; ++i) {
        write_row(step, row, found[i], found, output->extended, output->stride, place + i);
    }
}

#define TAKE(node) \
    { \
        bool is_excluded = false; \
        for (uint x = 0; x < excluded_count; ++x) is_excluded |= excluded[x] == (node); \
        if (!is_excluded) { \
            ++total; \
            if (output->extended) { \
                found[found_count++] = node; \
                if (found_count == FOUND) { \
                    write_found(step, row, found, found_count, output); \
                    found_count = 0; \
                } \
            } \
        } \
    }

static uint count_marked(global const uchar *restrict marks, global const uint *restrict neighbours, uint2 list) {
    uint marked = 0;
    for (uint entry = list.x, end = list.y; entry < end; ++entry) marked += marks[neighbours[entry]];
    return marked;
}

static inline bool counts_at_once(const RowRanges *ranges) {
    return ranges->range_count == 0 || (ranges->range_count == 1 && ranges->ranges[0].keys);
}

static uint count_marked_within(
    global const uchar *restrict marks, global const uint *restrict neighbours, uint2 list, const KeyRange *range
) {
    global const uint *restrict keys = range->keys;
    uint marked = 0, low = range->low, span = range->span;
    for (uint entry = list.x, end = list.y; entry < end; ++entry) {
        marked += marks[neighbours[entry]] & (keys[neighbours[entry]] - low <= span);
    }
    return marked;
}

/* Two lists of about the same length are intersected by marks even if no other row has the first one. */
static inline bool marks_pay(const Step *step, ulong row) {
    if (step->link_count != 2) return false;
    uint2 first = list_of(step, link_at(step, 0), old_value(step, row, step->words[link_at(step, 0)]));
    uint2 last = list_of(step, link_at(step, 1), old_value(step, row, step->words[link_at(step, 1)]));
    ulong marked = first.y - first.x, looked_at = last.y - last.x;
    return marked * MARK_COST + looked_at < min(marked, looked_at) * SEARCH_COST;
}

static ulong intersect_row(const Step *step, ulong row, Prefix *prefix, const Output *output, ulong *all_work) {
    uint excluded[MOST_EXCLUDED], found[FOUND], found_count = 0;
    uint excluded_count = excluded_nodes(step, row, excluded), last = link_at(step, step->link_count - 1);
    ulong total = 0, work = 0;
    RowRanges ranges;
    if (!ranges_of_row(step, row, step->tests, step->tests_end, &ranges)) return 0;
    global const uint *neighbours = list_neighbours(step, last);
    uint2 list = within_ranges(&ranges, neighbours, list_of(step, last, old_value(step, row, step->words[last])));
    if (step->link_count > 1 && !prefix->is_built) {
        COMMON_OF(step, row, step->link_count, &ranges, node, TAKE(node))
    } else if (prefix->is_built && (ulong)prefix->size * SEARCH_COST < list.y - list.x) {
        for (uint i = 0; i < prefix->size; ++i) {
            uint node = prefix->list[i];
            if (is_in(neighbours, list, node) && passes_ranges(&ranges, node)) TAKE(node)
        }
        work = prefix->size;
    } else {
        work = list.y - list.x;
        if (prefix->is_built && !output->extended && counts_at_once(&ranges)) {
            total = ranges.range_count == 0 ? count_marked(prefix->marks, neighbours, list)
                : count_marked_within(prefix->marks, neighbours, list, &ranges.ranges[0]);
            for (uint x = 0; x < excluded_count; ++x) {
                if (!passes_ranges(&ranges, excluded[x])) continue;
                if (prefix->marks[excluded[x]] && is_in(neighbours, list, excluded[x])) --total;
            }
            work /= 4;
        } else {
            for (uint entry = list.x; entry < list.y; ++entry) {
                uint node = neighbours[entry];
                if (prefix->is_built ? !prefix->marks[node] : step->row_bits && !has_bit(step->row_bits, node)) continue;
                if (ranges.range_count && !passes_ranges(&ranges, node)) continue;
                TAKE(node)
            }
        }
    }
    if (found_count) write_found(step, row, found, found_count, output);
    *all_work += work;
    return total;
}

/* Items stop taking tasks when they looked at `most_work` entries: the host starts them again until all tasks are done. */
kernel void intersect_rows(
    STEP_PARAMETERS, ulong first_row, ulong last_row, uint task_rows, ulong most_work, uint weighs,
    global uint *scratch, ulong scratch_words,
    global uint *extended, ulong extended_stride, volatile global uint *counters, global ulong *totals
) {
    const Step step = STEP_ARGUMENTS;
    const Output output = {weighs ? 0 : extended, extended_stride, counters};
    global uint *own = scratch + get_global_id(0) * scratch_words;
    Prefix prefix = {(global uchar *)own, own + node_words * 8, 0, false};
    ulong total = 0, work = 0;
    while (work < most_work) {
        ulong row = first_row + (ulong)atomic_inc(&counters[1]) * task_rows, end = min(row + task_rows, last_row);
        if (row >= last_row) break;
        for (ulong begin = row; row < end; ++row) {
            if (step.link_count > 1 && (row == begin || !same_prefix(&step, row, row - 1))) {
                if (prefix.is_built) clear(&prefix);
                bool is_shared = row + 1 < end && same_prefix(&step, row, row + 1);
                if (is_shared || marks_pay(&step, row)) work += build(&step, row, &prefix);
            }
            ulong found = intersect_row(&step, row, &prefix, &output, &work);
            if (weighs && found) write_row(&step, row, (uint)found, 0, extended, extended_stride, atomic_inc(counters));
            total += found;
            ++work;
        }
        clear(&prefix);
    }
    totals[get_group_id(0)] += total;
}
#endif
