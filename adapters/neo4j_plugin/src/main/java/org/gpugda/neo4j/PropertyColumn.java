package org.gpugda.neo4j;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.neo4j.values.storable.BooleanValue;
import org.neo4j.values.storable.FloatingPointValue;
import org.neo4j.values.storable.IntegralValue;
import org.neo4j.values.storable.TextValue;
import org.neo4j.values.storable.Value;

/** The values of one key: packed while they have one kind, else as objects. */
final class PropertyColumn {
    private static final String NOTHING = "";
    private static final String BOOLEAN = "boolean";
    private static final String INTEGER = "integer";
    private static final String FLOAT = "float";
    private static final String TEXT = "text";
    private static final String OTHER = "other";

    private final String key;
    private final int count;
    private String kind = NOTHING;
    private final byte[] valid;
    private long[] numbers;
    private Object[] values;
    private int set;

    PropertyColumn(String key, int count) {
        this.key = key;
        this.count = count;
        this.valid = new byte[count];
    }

    boolean isEmpty() {
        return set == 0;
    }

    void set(int place, Value value) {
        String found = kindOf(value);
        if (kind.equals(NOTHING)) begin(found);
        else if (!kind.equals(found)) becomeOther();
        if (valid[place] == 0) set++;
        valid[place] = 1;
        switch (kind) {
            case INTEGER -> numbers[place] = ((IntegralValue) value).longValue();
            case FLOAT -> numbers[place] = Double.doubleToRawLongBits(((FloatingPointValue) value).doubleValue());
            case BOOLEAN -> numbers[place] = ((BooleanValue) value).booleanValue() ? 1 : 0;
            case TEXT -> values[place] = ((TextValue) value).stringValue();
            default -> values[place] = value.asObject();
        }
    }

    PropertyPage.Row row() {
        PropertyPage.Row row = new PropertyPage.Row();
        row.key = key;
        row.kind = kind;
        row.valid = set == count ? new byte[0] : valid;
        if (kind.equals(TEXT)) addText(row);
        else if (kind.equals(OTHER)) row.values = Arrays.asList(values);
        else {
            ByteBuffer bytes = Columns.bytes(8 * count);
            for (long number : numbers) bytes.putLong(number);
            row.numbers = bytes.array();
        }
        return row;
    }

    /** The concatenated UTF-8 texts, and the end of each. */
    private void addText(PropertyPage.Row row) {
        ByteArrayOutputStream text = new ByteArrayOutputStream(16 * count);
        ByteBuffer ends = Columns.bytes(8 * count);
        for (Object value : values) {
            if (value != null) text.writeBytes(((String) value).getBytes(StandardCharsets.UTF_8));
            ends.putLong(text.size());
        }
        row.text = text.toByteArray();
        row.numbers = ends.array();
    }

    private void begin(String found) {
        kind = found;
        if (found.equals(TEXT) || found.equals(OTHER)) values = new Object[count];
        else numbers = new long[count];
    }

    private void becomeOther() {
        if (kind.equals(OTHER)) return;
        Object[] found = new Object[count];
        for (int i = 0; i < count; i++) if (valid[i] != 0) found[i] = single(i);
        kind = OTHER;
        values = found;
        numbers = null;
    }

    private Object single(int place) {
        return switch (kind) {
            case INTEGER -> numbers[place];
            case FLOAT -> Double.longBitsToDouble(numbers[place]);
            case BOOLEAN -> numbers[place] != 0;
            default -> values[place];
        };
    }

    private static String kindOf(Value value) {
        if (value instanceof TextValue) return TEXT;
        if (value instanceof IntegralValue) return INTEGER;
        if (value instanceof FloatingPointValue) return FLOAT;
        return value instanceof BooleanValue ? BOOLEAN : OTHER;
    }
}
