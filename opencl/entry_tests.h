/* What links ask of entries, as words written by `entry_words` of gpugda/device/launch/kept_entries.py: the number of
   tests; then per test the candidate matrix rows of the bound end and of the other end (NONE: any node), the position of
   the first type in these words, and the number of types (NONE: any type). Needs work_split.h and query_graph.h. */
#define TEST_WORDS 4
#define TEST(tests, i) ((tests) + 1 + (i) * TEST_WORDS)

static inline bool may_be(global const uint *candidates, uint words, uint row, uint node) {
    return row == NONE || is_candidate(candidates + (ulong)row * words, node);
}
