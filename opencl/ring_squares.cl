/* Counts cycles of four nodes from their highest ones, in ranked lists (see ranked_lists.h): directed ones, and
   undirected ones in lists of both directions. `correct_ring_squares` adds the error of the count.

          d ──> a          Each c below a is marked with the number of paths a -> b -> c over nodes b below a; then the
          ^     │          marks along the paths back, a <- d <- c, are added up. So few paths of two are read, as
          │     v          lists of lower nodes are short where nodes are many (Chiba and Nishizeki, 1985). Each cycle
          c <── b          of four nodes is found once; it has four embeddings. For undirected ones two paths to c are
                           a cycle: the mark at the time when a path arrives is added up, and a cycle has eight
                           embeddings.

   The count of directed cycles includes those whose b and d are one node, that of undirected ones includes pairs of
   paths over parallel relationships; neither includes cycles whose a and c are one node, nor any with loops. All of
   these, except triangles with a loop at a node (counted separately), follow from the neighbours of each v alone,
   with p relationships on and q back: p * q paths v -> u -> v, for undirected ones p * (p - 1). If b and d are v, a
   is above v, and c is another node below a.
   Few nodes a have most of the paths. All work groups process these together, a batch at a time, so that all marks
   in use fit the cache:

          measure_links   one item per entry of the first nodes: lengths = number of paths over two links that it begins
          count_paths     one item per node: paths = number of paths from it
          walk_links      all paths of a batch, in equal shares of teams: marks nodes, or adds marks up
          clear_marks     one item per mark: 0

       marks    uint[batch nodes * node_count]   zero before and after
       sums     ulong[entries + 1]               prefix sums of lengths
       totals   ulong[groups]                    each group adds to its own

   Undirected squares with one more relationship at a node (`weigh`): a square counts as many times as its nodes have
   other relationships, twice. No two nodes may have two relationships between them. All c below a are marked, then
   each path a -> b -> c adds its pairs with the others, times the sum of a's and c's other relationships and twice
   those of b.

   For all others (`count_ring_squares`) a work group takes a node at a time from a counter of tasks until it has
   walked `max_work` paths; it has `node_count` words of scratch, zero before and after. Teams of LANES items
   take one b, or d, each.
*/
#include "work_split.h"
#include "search.h"
#include "group_sum.h"
#include "ranked_lists.h"

#define MARKS 0
#define ADDS 1
#define CLEARS 2
#define PAIRS 3
#define WEIGHS 4

/* The first neighbour of b that is below a, which is above b. */
static inline uint first_below(const Ranked *lists, uint b, uint a) {
    return first_place_from(lists->neighbours, lists->starts[b], lists->middles[b], a + 1);
}

/* Relationships of a node beside two. */
static inline ulong others(global const uint *starts, uint node) {
    return (ulong)(starts[node + 1] - starts[node]) - 2;
}

/* What a path a -> b -> c adds to the weighed squares, if `marked` paths lead to c. */
static inline ulong weight(global const uint *starts, uint a, uint b, uint c, uint marked) {
    if (marked < 2) return 0;
    return (marked - 1) * (others(starts, a) + others(starts, c) + 2 * others(starts, b));
}

kernel void measure_links(
    global const uint *neighbours, global const uint *starts, global const uint *middles, uint node_count, uint entry_count,
    global uint *lengths
) {
    const Ranked lists = {neighbours, starts, middles};
    FOR_EACH(entry, entry_count) {
        uint a = (uint)upper_bound(starts, 0, node_count, (uint)entry) - 1, b = neighbours[entry];
        lengths[entry] = entry < middles[a] ? 0 : starts[b + 1] - first_below(&lists, b, a);
    }
}

kernel void count_paths(global const uint *starts, global const ulong *sums, uint node_count, global ulong *paths) {
    FOR_EACH(node, node_count) paths[node] = sums[starts[node + 1]] - sums[starts[node]];
}

/* Processes the nodes first … last-1. Indexes of sums and entries count from node 0. */
kernel void walk_links(
    global const uint *neighbours, global const uint *starts, global const ulong *sums, uint first, uint last, uint node_count,
    uint what, global uint *marks, global ulong *totals, volatile global uint *carried
) {
    local ulong of_items[GROUP_SIZE];
    uint lane = get_local_id(0) % LANES;
    ulong team = get_global_id(0) / LANES, low = starts[first], high = starts[last], sum = 0;
    ulong share = (sums[high] - sums[low] + get_global_size(0) / LANES - 1) / (get_global_size(0) / LANES);
    ulong path = sums[low] + team * share, end = min(path + share, sums[high]);
    ulong entry = low;
    while (path < end) {
        if (sums[entry + 1] <= path) entry = first_sum_above(sums, entry, high + 1, path) - 1;
        ulong before_next = sums[entry + 1], reached = min(before_next, end);
        uint a = (uint)upper_bound(starts, first, last, (uint)entry) - 1, stop = starts[neighbours[entry] + 1];
        global uint *own = marks + (a - first) * (ulong)node_count;
        uint from = stop - (uint)(before_next - path), to = stop - (uint)(before_next - reached);
        for (uint place = from + lane; place < to; place += LANES) {
            if (what == ADDS) {
                sum += own[neighbours[place]];
            } else if (what == WEIGHS) {
                uint c = neighbours[place];
                sum += weight(starts, a, neighbours[entry], c, own[c]);
            } else if (what == PAIRS) {
                sum += atomic_inc((volatile global uint *)own + neighbours[place]);
            } else {
                atomic_inc((volatile global uint *)own + neighbours[place]);
            }
        }
        path = reached;
        ++entry;
    }
    sum = group_sum(sum, of_items); /* also of marks: PoCL compiles a return before a barrier to an endless loop */
    if (what == MARKS || get_local_id(0) != 0) return;
    if (what == WEIGHS) add_total(totals, carried, sum);
    else totals[get_group_id(0)] += (what == PAIRS ? 8 : 4) * sum;
}

kernel void clear_marks(global uint *marks, ulong count) {
    FOR_EACH(i, count) marks[i] = 0;
}

/* Walks over two links of one direction from a; all items of a group together. */
static ulong two_links(const Ranked *lists, uint a, volatile global uint *marks, uint what, ulong *work) {
    ulong sum = 0;
    uint last = lists->starts[a + 1];
    for (uint place = lists->middles[a] + get_local_id(0) / LANES; place < last; place += TEAMS) {
        uint middle = lists->neighbours[place], stop = lists->starts[middle + 1];
        for (uint entry = first_below(lists, middle, a) + get_local_id(0) % LANES; entry < stop; entry += LANES) {
            ++*work;
            uint c = lists->neighbours[entry];
            if (what == PAIRS) sum += atomic_inc(marks + c);
            else if (what == MARKS) atomic_inc(marks + c);
            else if (what == ADDS) sum += marks[c];
            else if (what == WEIGHS) sum += weight(lists->starts, a, middle, c, marks[c]);
            else marks[c] = 0;
        }
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    return sum;
}

kernel void count_ring_squares(
    RANKED_PARAMETERS, uint first, uint node_count, uint undirected, uint weigh, uint task_nodes, ulong max_work,
    global uint *scratch, volatile global uint *counters, global ulong *totals, volatile global uint *carried
) {
    const Ranked outgoing = OUTGOING_RANKED, incoming = INCOMING_RANKED;
    volatile global uint *marks = scratch + get_group_id(0) * (ulong)node_count;
    local uint next_task;
    local ulong of_items[GROUP_SIZE];
    ulong sum = 0, work = 0;
    for (ulong group_work = 0; group_work < max_work;) {
        if (get_local_id(0) == 0) next_task = next_of_share(counters);
        barrier(CLK_LOCAL_MEM_FENCE);
        ulong begin = first + (ulong)next_task * task_nodes, end = min(begin + task_nodes, (ulong)node_count);
        if (begin >= node_count) break;
        for (uint a = (uint)begin; a < end; ++a, ++work) {
            if (outgoing.middles[a] >= outgoing.starts[a + 1] || incoming.middles[a] >= incoming.starts[a + 1]) continue;
            sum += two_links(&outgoing, a, marks, undirected && !weigh ? PAIRS : MARKS, &work);
            if (weigh) sum += two_links(&outgoing, a, marks, WEIGHS, &work);
            else if (!undirected) sum += two_links(&incoming, a, marks, ADDS, &work);
            two_links(&outgoing, a, marks, CLEARS, &work);
        }
        group_work = group_sum(work, of_items);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = group_sum(sum, of_items);
    if (get_local_id(0) != 0) return;
    if (weigh) add_total(totals, carried, sum);
    else totals[get_group_id(0)] += (undirected ? 8 : 4) * sum;
}

/* Sums over the neighbours u of v: paths v -> u -> v as counted (u above v, u below v, squares of the former);
   paths whose relationships differ (and their squares); pairs of paths whose relationships all differ; for
   undirected cycles the paths that do not count as a pair (as the first three); and paths with two loops. */
#define ABOVE 0
#define BELOW 1
#define SQUARES_ABOVE 2
#define APART 3
#define SQUARES_APART 4
#define BOTH 5
#define NO_PAIR 6
#define WITH_LOOPS 9
#define SUMS 10

static void add_paths(ulong *sums, ulong paths, bool is_above) {
    sums[is_above ? ABOVE : BELOW] += paths;
    if (is_above) sums[SQUARES_ABOVE] += paths * paths;
}

/* Adds one neighbour, with p relationships from v and q to v. True if some path to it and back has two different
   relationships. */
static bool add_neighbour(ulong *sums, ulong p, ulong q, bool is_above, bool undirected, ulong loops, ulong its_loops) {
    ulong apart = undirected ? p * (p - 1) : p * q;
    add_paths(sums, p * q, is_above);
    if (undirected) add_paths(sums + NO_PAIR, p, is_above);
    sums[APART] += apart;
    sums[SQUARES_APART] += apart * apart;
    sums[BOTH] += undirected ? apart * (p - 2) * (p - 3) : apart * (p - 1) * (q - 1);
    sums[WITH_LOOPS] += apart * (4 * loops * (loops - 1) + 2 * loops * its_loops);
    return apart > 0;
}

static bool measure_neighbours(
    const Ranked *outgoing, const Ranked *incoming, uint v, bool undirected, global const uint *loops, local ulong *of_items
) {
    ulong sums[SUMS] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    uint2 on = (uint2)(outgoing->starts[v], outgoing->starts[v + 1]), back = (uint2)(incoming->starts[v], incoming->starts[v + 1]);
    bool any = false;
    for (uint entry = on.x + get_local_id(0); entry < on.y && back.x < back.y; entry += GROUP_SIZE) {
        uint u = outgoing->neighbours[entry];
        if (entry > on.x && outgoing->neighbours[entry - 1] == u) continue;
        ulong count_on = 1, count_back = 0;
        while (entry + count_on < on.y && outgoing->neighbours[entry + count_on] == u) ++count_on;
        uint found = undirected ? entry : first_place_from(incoming->neighbours, back.x, back.y, u);
        while (found + count_back < back.y && incoming->neighbours[found + count_back] == u) ++count_back;
        any = add_neighbour(sums, count_on, count_back, u < v, undirected, loops ? loops[v] : 0, loops ? loops[u] : 0) || any;
    }
    for (uint each = 0; each < (undirected || loops ? SUMS : NO_PAIR); ++each) of_items[each * GROUP_SIZE + get_local_id(0)] = sums[each];
    return any;
}

/* The number of counted cycles whose b and d are v. */
static ulong counted(local const ulong *sums) {
    return sums[ABOVE] * sums[BELOW] + (sums[ABOVE] * sums[ABOVE] - sums[SQUARES_ABOVE]) / 2;
}

kernel void correct_ring_squares(
    RANKED_PARAMETERS, uint node_count, uint undirected, global const uint *loops, global ulong *totals
) {
    const Ranked outgoing = OUTGOING_RANKED, incoming = INCOMING_RANKED;
    local ulong of_items[SUMS * GROUP_SIZE], sums[SUMS];
    local uint seen;
    ulong total = 0;
    if (get_local_id(0) < SUMS) sums[get_local_id(0)] = 0;
    for (uint v = get_group_id(0); v < node_count; v += get_num_groups(0)) {
        ulong own = loops ? loops[v] : 0;
        if (get_local_id(0) == 0 && own) total += own * (own - 1) * (own - 2) * (own - 3);
        if (get_local_id(0) == 0) seen = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (measure_neighbours(&outgoing, &incoming, v, undirected, loops, of_items)) atomic_or(&seen, 1u);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (seen && get_local_id(0) < (undirected || loops ? SUMS : NO_PAIR)) {
            ulong sum = 0;
            for (uint item = 0; item < GROUP_SIZE; ++item) sum += of_items[get_local_id(0) * GROUP_SIZE + item];
            sums[get_local_id(0)] = sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (seen && get_local_id(0) == 0) {
            ulong folded = sums[APART] * sums[APART] - sums[SQUARES_APART] + sums[BOTH];
            total += 2 * folded - sums[BOTH] - 4 * (counted(sums) - counted(sums + NO_PAIR)) + sums[WITH_LOOPS];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (get_local_id(0) == 0) totals[get_group_id(0)] += total;
}
