/* Makes bitmaps of long lists (see hub_bitmaps.h). Work split:

          mark_hubs   one work group per list: sets the bits of its neighbours in bitmap first_slot + number of the list

       hub_runs   uint[hub_count]                runs of the long lists
       bits       uint[bitmaps * node_words]     initially 0
*/
#include "work_split.h"

kernel void mark_hubs(
    global const uint *neighbours, global const uint *run_starts, global const uint *hub_runs, uint hub_count,
    uint first_slot, uint node_words, volatile global uint *bits
) {
    for (uint hub = get_group_id(0); hub < hub_count; hub += get_num_groups(0)) {
        volatile global uint *own = bits + (ulong)(first_slot + hub) * node_words;
        uint run = hub_runs[hub], end = run_starts[run + 1];
        for (uint entry = run_starts[run] + get_local_id(0); entry < end; entry += get_local_size(0)) {
            uint node = neighbours[entry];
            atomic_or(&own[node >> 5], 1u << (node & 31));
        }
    }
}
