/* The nodes that tests exclude as the added node of a row (see extension.h). */
#define MAX_EXCLUDED 16

/* True if a test compares relationships, one of which is a link of this step. */
static inline bool is_on_relationships(const Step *step, uint test) {
    uint left = step->words[test], right = step->words[test + 1];
    return !(step->words[test + 2] & COMPARES) && step->words[test + 3] == NONE && (left > step->width || right > step->width);
}

/* Lists the nodes that the tests exclude for a row, each once. A test on nodes has the added one in one of its
   pairs, or in both. */
static uint excluded_nodes(const Step *step, ulong row, uint *excluded) {
    uint count = 0;
    for (uint test = step->tests; test < step->tests_end; test += TEST_WORDS) {
        if ((step->words[test + 2] & COMPARES) || is_on_relationships(step, test)) continue;
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
