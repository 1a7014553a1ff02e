/* Bitmaps of long lists: testing membership is then one load instead of a search.

       slots[run]           bitmap of a run of the data graph (see csr.h), or NONE; one array per direction
       bits[s * node_words …]   bitmap s: one bit per data node

   Lists shorter than `shortest` have no bitmap.
*/
typedef struct {
    global const uint *outgoing_slots, *incoming_slots, *bits;
    uint shortest;
} Hubs;

#define HUB_PARAMETERS \
    global const uint *outgoing_hub_slots, global const uint *incoming_hub_slots, global const uint *hub_bits, uint shortest_hub

#define HUB_ARGUMENTS {outgoing_hub_slots, incoming_hub_slots, hub_bits, shortest_hub}

/* The bitmap of a node's run of one type (NONE in a graph with one type); NONE if it has none. */
static inline uint hub_slot(const Hubs *hubs, const Csr *csr, bool is_incoming, uint node, uint type, uint length) {
    if (length < hubs->shortest) return NONE;
    uint run = place_of_run(csr, node, type == NONE ? 0 : type);
    return (is_incoming ? hubs->incoming_slots : hubs->outgoing_slots)[run];
}
