/* Partial embeddings: a table of columns, column c of row i at c * stride + i.

   The words of a step are written by step_words in gpugda/device/launch/join.py:

       words[at]       number of old columns that the new table keeps
       words[at + 1]   number of tests
       then            the old columns, in the order of the new table; the tests
       test            left, right, whether they must be equal (1) or differ (0)

   A test names an old column or an added value: old columns are 0 … width-1, the added node is width, the added
   relationship width + 1.
*/
#define STEP_KEPT(words, at) ((at) + 2)
#define STEP_TESTS(words, at) ((at) + 2 + (words)[at])

static inline uint value_of(
    global const uint *table, ulong stride, ulong row, uint width, uint column, uint node, uint relationship
) {
    if (column < width) return table[column * stride + row];
    return column == width ? node : relationship;
}

/* True if a row with an added node and relationship passes all tests of the step. */
static inline bool passes(
    global const uint *table, ulong stride, ulong row, uint width,
    global const uint *words, uint at, uint node, uint relationship
) {
    uint tests = STEP_TESTS(words, at);
    for (uint test = tests; test < tests + 3 * words[at + 1]; test += 3) {
        uint left = value_of(table, stride, row, width, words[test], node, relationship);
        uint right = value_of(table, stride, row, width, words[test + 1], node, relationship);
        if ((left == right) != (bool)words[test + 2]) return false;
    }
    return true;
}

/* Copies the kept columns of a row to a position in the new table. */
static inline void keep_columns(
    global const uint *table, ulong stride, ulong row, global const uint *words, uint at,
    global uint *extended, ulong extended_stride, ulong place
) {
    uint kept = STEP_KEPT(words, at);
    for (uint column = 0; column < words[at]; ++column) {
        extended[column * extended_stride + place] = table[words[kept + column] * stride + row];
    }
}

static inline void put(global uint *extended, ulong stride, uint column, ulong place, uint value) {
    if (column != NONE) extended[column * stride + place] = value;
}

/* The rows [x, y) with output in the window [low, high). */
static inline ulong2 rows_of_window(global const ulong *sums, ulong rows, ulong low, ulong high) {
    if (low == 0 && high == sums[rows]) return (ulong2)(0, rows);
    ulong first = first_sum_above(sums, 0, rows + 1, low);
    ulong last = first_sum_from(sums, 0, rows, high);
    return (ulong2)(first - 1, last);
}
