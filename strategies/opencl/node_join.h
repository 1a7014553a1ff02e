/* Kept columns and tests of a step of a join node by node, in words written by
   strategies/launch/gsi_join.py.

       words[at]       number of old columns that the new table keeps
       words[at + 1]   number of tests
       then            the old columns, in the order of the new table; the tests
       test            left, right, whether they must be equal (1) or differ (0), and a second pair or NONE twice: with
                       one, not both pairs may be equal

   A test names an old column; the old width stands for the added node, width + 1 for the added relationship.
*/
#define ROW_TEST_WORDS 5

static inline uint joined_value(
    global const uint *table, ulong stride, ulong row, uint width, uint column, uint node, uint relationship
) {
    if (column < width) return table[column * stride + row];
    return column == width ? node : relationship;
}

static inline bool passes_tests(
    global const uint *table, ulong stride, ulong row, uint width,
    global const uint *words, uint at, uint node, uint relationship
) {
    uint tests = at + 2 + words[at], end = tests + ROW_TEST_WORDS * words[at + 1];
    for (uint test = tests; test < end; test += ROW_TEST_WORDS) {
        bool equal = joined_value(table, stride, row, width, words[test], node, relationship)
            == joined_value(table, stride, row, width, words[test + 1], node, relationship);
        if (equal && words[test + 3] != NONE) {
            equal = joined_value(table, stride, row, width, words[test + 3], node, relationship)
                == joined_value(table, stride, row, width, words[test + 4], node, relationship);
        }
        if (equal != (bool)words[test + 2]) return false;
    }
    return true;
}
