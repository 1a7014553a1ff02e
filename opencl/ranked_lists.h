/* Lists of a graph whose nodes are numbered by rank, highest degree first; made by ranked_lists.cl.

       neighbours   uint[size]       ascending within each list
       starts       uint[n + 1]      node v has the neighbours starts[v] … starts[v + 1] - 1
       middles      uint[n]          neighbours before middles[v] are above v (higher degree), the others below

   There are no loops.
*/
typedef struct {
    global const uint *neighbours, *starts, *middles;
} Ranked;

#define RANKED_PARAMETERS \
    global const uint *outgoing_neighbours, global const uint *outgoing_starts, global const uint *outgoing_middles, \
    global const uint *incoming_neighbours, global const uint *incoming_starts, global const uint *incoming_middles

/* Takes a task of a share: of every counters[2] tasks the one with the number counters[1]; counters[0] counts those
   taken. */
static inline uint next_of_share(volatile global uint *counters) {
    return (uint)min((ulong)NONE, counters[1] + (ulong)atomic_inc(counters) * counters[2]);
}

#define OUTGOING_RANKED {outgoing_neighbours, outgoing_starts, outgoing_middles}
#define INCOMING_RANKED {incoming_neighbours, incoming_starts, incoming_middles}

#define GROUP_SIZE 256
#define LANES 32
#define TEAMS (GROUP_SIZE / LANES)
