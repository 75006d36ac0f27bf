package io.trunkline;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.UserDefinedType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What a row is, exactly, as two numbers of 64 bits that depend on nothing but its values.
 *
 * A row is fed as a sequence of numbers that no other row of these columns has: which values are
 * null, then the values; sizes before what is sized. Zeros of both signs differ, since they are
 * shown; all NaNs are one. Changing any of this needs another VERSION in tables/writing/fingerprint.py.
 */
public final class RowHash {
    private static final int BOOLEAN = 0, BYTE = 1, SHORT = 2, INT = 3, LONG = 4, FLOAT = 5, DOUBLE = 6,
        TEXT = 7, BINARY = 8, SMALL_DECIMAL = 9, DECIMAL = 10, ARRAY = 11, MAP = 12, STRUCT = 13;

    private final Node columns;
    public long first;
    public long second;

    public RowHash(StructType columns) {
        this.columns = new Node(columns);
    }

    /** Leaves the numbers of a row in `first` and `second`. */
    public void of(InternalRow row) {
        first = 0x9e3779b97f4a7c15L;
        second = 0xc2b2ae3d27d4eb4fL;
        struct(row, columns);
    }

    /** A type, looked at once instead of with each value. */
    private static final class Node {
        final int kind;
        final int precision;
        final int scale;
        final Node[] inner;

        Node(DataType type) {
            int digits = 0;
            int behind = 0;
            Node[] nodes = new Node[0];
            if (type instanceof UserDefinedType) {
                type = ((UserDefinedType) type).sqlType();
            }
            if (type instanceof BooleanType) {
                kind = BOOLEAN;
            } else if (type instanceof ByteType) {
                kind = BYTE;
            } else if (type instanceof ShortType) {
                kind = SHORT;
            } else if (type instanceof IntegerType || type instanceof DateType) {
                kind = INT;
            } else if (type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType) {
                kind = LONG;
            } else if (type instanceof FloatType) {
                kind = FLOAT;
            } else if (type instanceof DoubleType) {
                kind = DOUBLE;
            } else if (type instanceof StringType) {
                kind = TEXT;
            } else if (type instanceof BinaryType) {
                kind = BINARY;
            } else if (type instanceof DecimalType) {
                digits = ((DecimalType) type).precision();
                behind = ((DecimalType) type).scale();
                kind = digits <= 18 ? SMALL_DECIMAL : DECIMAL;
            } else if (type instanceof ArrayType) {
                kind = ARRAY;
                nodes = new Node[] {new Node(((ArrayType) type).elementType())};
            } else if (type instanceof MapType) {
                kind = MAP;
                nodes = new Node[] {new Node(((MapType) type).keyType()), new Node(((MapType) type).valueType())};
            } else if (type instanceof StructType) {
                kind = STRUCT;
                StructField[] fields = ((StructType) type).fields();
                nodes = new Node[fields.length];
                for (int i = 0; i < fields.length; i++) {
                    nodes[i] = new Node(fields[i].dataType());
                }
            } else {
                throw new IllegalArgumentException("tables hold no values of the type " + type.simpleString());
            }
            precision = digits;
            scale = behind;
            inner = nodes;
        }
    }

    private void struct(SpecializedGetters row, Node type) {
        Node[] fields = type.inner;
        nulls(row, fields.length);
        for (int i = 0; i < fields.length; i++) {
            if (!row.isNullAt(i)) {
                value(row, i, fields[i]);
            }
        }
    }

    private void array(ArrayData values, Node type) {
        int count = values.numElements();
        nulls(values, count);
        for (int i = 0; i < count; i++) {
            if (!values.isNullAt(i)) {
                value(values, i, type);
            }
        }
    }

    private void nulls(SpecializedGetters values, int count) {
        long mask = 0L;
        for (int i = 0; i < count; i++) {
            if (values.isNullAt(i)) {
                mask |= 1L << i;
            }
            if ((i & 63) == 63 || i == count - 1) {
                number(mask);
                mask = 0L;
            }
        }
    }

    private void value(SpecializedGetters from, int place, Node type) {
        switch (type.kind) {
            case BOOLEAN:
                number(from.getBoolean(place) ? 1L : 0L);
                break;
            case BYTE:
                number(from.getByte(place));
                break;
            case SHORT:
                number(from.getShort(place));
                break;
            case INT:
                number(from.getInt(place));
                break;
            case LONG:
                number(from.getLong(place));
                break;
            case FLOAT:
                number(Float.floatToIntBits(from.getFloat(place)));
                break;
            case DOUBLE:
                number(Double.doubleToLongBits(from.getDouble(place)));
                break;
            case TEXT:
                UTF8String text = from.getUTF8String(place);
                bytes(text.getBaseObject(), text.getBaseOffset(), text.numBytes());
                break;
            case BINARY:
                bytes(from.getBinary(place));
                break;
            case SMALL_DECIMAL:
                number(from.getDecimal(place, type.precision, type.scale).toUnscaledLong());
                break;
            case DECIMAL:
                bytes(from.getDecimal(place, type.precision, type.scale)
                    .toJavaBigDecimal().setScale(type.scale).unscaledValue().toByteArray());
                break;
            case ARRAY:
                ArrayData values = from.getArray(place);
                number(values.numElements());
                array(values, type.inner[0]);
                break;
            case MAP:
                MapData entries = from.getMap(place);
                number(entries.numElements());
                array(entries.keyArray(), type.inner[0]);
                array(entries.valueArray(), type.inner[1]);
                break;
            default:
                struct(from.getStruct(place, type.inner.length), type);
        }
    }

    private void number(long value) {
        first = XXH64.hashLong(value, first);
        second = mixed(second ^ value);
    }

    private void bytes(byte[] held) {
        bytes(held, Platform.BYTE_ARRAY_OFFSET, held.length);
    }

    private void bytes(Object base, long start, int length) {
        number(length);
        first = XXH64.hashUnsafeBytes(base, start, length, first);
        long mix = second;
        int at = 0;
        for (; at + 8 <= length; at += 8) {
            mix = mixed(mix ^ Platform.getLong(base, start + at));
        }
        long rest = 0L;
        for (int shift = 0; at < length; at++, shift += 8) {
            rest |= (Platform.getByte(base, start + at) & 0xffL) << shift;
        }
        second = mixed(mix ^ rest);
    }

    /** For each number another one, in which every bit depends on every bit. */
    private static long mixed(long value) {
        value = (value ^ (value >>> 32)) * 0xd6e8feb86659fd93L + 0x2545f4914f6cdd1dL;
        value = (value ^ (value >>> 29)) * 0xbf58476d1ce4e5b9L;
        return value ^ (value >>> 31);
    }
}
