/* Weights of data nodes for programs of sparse vectors (see vector_program.h).

          pull_weights   one team per node: weights[to + v] *= sum over the neighbours u of weights[from + u]
          loop_weights   one item per node: weights[to + v] *= loops[v] ^ power
*/
#include "work_split.h"
#include "search.h"
#include "ranked_lists.h"
#include "vector_program.h"

kernel void pull_weights(
    RANKED_PARAMETERS, uint node_count, uint sides, uint more, uint from, uint to, global ulong *weights
) {
    local ulong of_items[GROUP_SIZE];
    Lists lists = {OUTGOING_RANKED, INCOMING_RANKED, 0, node_count};
    uint lanes = min((uint)get_local_size(0), (uint)LANES), teams = get_local_size(0) / lanes;
    uint lane = get_local_id(0) % lanes, team = get_local_id(0) / lanes;
    for (uint first = get_group_id(0) * teams; first < node_count; first += get_num_groups(0) * teams) {
        uint v = first + team;
        ulong sum = 0;
        for (uint side = 0; side < 2 && v < node_count; ++side) {
            if (!(sides >> side & 1)) continue;
            const Ranked *own = side ? &lists.incoming : &lists.outgoing;
            for (uint place = own->starts[v] + lane; place < own->starts[v + 1]; place += lanes) {
                uint u = own->neighbours[place];
                sum += weight_at(weights, from, node_count, u) * multiplicity(&lists, more, v, u);
            }
        }
        of_items[get_local_id(0)] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane == 0 && v < node_count) {
            for (uint i = 1; i < lanes; ++i) sum += of_items[get_local_id(0) + i];
            weights[(ulong)to * node_count + v] *= sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

kernel void loop_weights(global const uint *loops, uint node_count, uint power, uint to, global ulong *weights) {
    FOR_EACH(v, node_count) weights[(ulong)to * node_count + v] *= raised(loops[v], power);
}
