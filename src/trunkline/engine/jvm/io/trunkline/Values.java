package io.trunkline;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.LocalDate;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.DateLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.IntLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.StringLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimestampLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeUnit;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What a value is to those who skip files: how a bound is written, read, and compared. In Python
 * tables/values.py says the same, and why; tests/tables/values.json holds both to it.
 */
final class Values {
    private static final int LONGEST_TEXT = 64;
    private static final String UNKNOWN = "\uFFFD";

    private Values() {}

    /** A bound from a Parquet footer as JSON; null where it says nothing. */
    static JsonNode written(PrimitiveType type, Object value, boolean upper) {
        LogicalTypeAnnotation logical = type.getLogicalTypeAnnotation();
        JsonNodeFactory make = JsonNodeFactory.instance;
        if (logical instanceof DecimalLogicalTypeAnnotation) {
            int scale = ((DecimalLogicalTypeAnnotation) logical).getScale();
            BigInteger unscaled = value instanceof Binary
                ? new BigInteger(((Binary) value).getBytes())
                : BigInteger.valueOf(((Number) value).longValue());
            return make.numberNode(new BigDecimal(unscaled, scale));
        }
        if (logical instanceof DateLogicalTypeAnnotation) {
            return make.textNode(LocalDate.ofEpochDay(((Integer) value).longValue()).toString());
        }
        if (logical instanceof TimestampLogicalTypeAnnotation) {
            // What Spark writes otherwise is read again as micros, and may have been cut.
            TimeUnit unit = ((TimestampLogicalTypeAnnotation) logical).getUnit();
            return unit == TimeUnit.MICROS ? make.numberNode(((Long) value).longValue()) : null;
        }
        if (logical instanceof StringLogicalTypeAnnotation) {
            return text((Binary) value, upper);
        }
        if (value instanceof Boolean) {
            return make.booleanNode(((Boolean) value).booleanValue());
        }
        if (value instanceof Double || value instanceof Float) {
            double number = ((Number) value).doubleValue();
            return Double.isNaN(number) || Double.isInfinite(number) ? null : make.numberNode(number);
        }
        boolean whole = logical == null
            || (logical instanceof IntLogicalTypeAnnotation && ((IntLogicalTypeAnnotation) logical).isSigned());
        return value instanceof Number && whole ? make.numberNode(((Number) value).longValue()) : null;
    }

    /** Of a long text its beginning: that is less than the whole, so it only does as the lower bound. */
    private static JsonNode text(Binary value, boolean upper) {
        String text = value.toStringUsingUTF8();
        if (text.indexOf(UNKNOWN) >= 0) {
            return null;
        }
        if (text.codePointCount(0, text.length()) > LONGEST_TEXT) {
            if (upper) {
                return null;
            }
            text = text.substring(0, text.offsetByCodePoints(0, LONGEST_TEXT));
        }
        return JsonNodeFactory.instance.textNode(text);
    }

    /** A bound to compare with, in the type of its column; null if it is of another. */
    static Object read(JsonNode bound, DataType type) {
        if (bound == null || bound.isNull()) {
            return null;
        }
        if (type instanceof BooleanType) {
            return bound.isBoolean() ? Boolean.valueOf(bound.booleanValue()) : null;
        }
        if (isPlainText(type)) {
            boolean known = bound.isTextual() && bound.textValue().indexOf(UNKNOWN) < 0;
            return known ? UTF8String.fromString(bound.textValue()) : null;
        }
        if (type instanceof DateType) {
            return bound.isTextual() ? days(bound.textValue()) : null;
        }
        if (!bound.isNumber()) {
            return null;
        }
        if (isWhole(type) || type instanceof TimestampType || type instanceof TimestampNTZType) {
            return bound.canConvertToLong() && bound.isIntegralNumber() ? Long.valueOf(bound.longValue()) : null;
        }
        if (type instanceof DoubleType || type instanceof FloatType) {
            return Double.valueOf(bound.decimalValue().doubleValue());
        }
        return type instanceof DecimalType ? bound.decimalValue() : null;
    }

    /** A value of Spark's own as `read` gives bounds; null if such values have no order here. */
    static Object own(Object value, DataType type) {
        if (value == null) {
            return null;
        }
        if (type instanceof BooleanType || isPlainText(type)) {
            return value;
        }
        if (isWhole(type) || type instanceof DateType || type instanceof TimestampType
                || type instanceof TimestampNTZType) {
            return Long.valueOf(((Number) value).longValue());
        }
        if (type instanceof DoubleType || type instanceof FloatType) {
            return Double.valueOf(((Number) value).doubleValue());
        }
        return type instanceof DecimalType ? ((Decimal) value).toJavaBigDecimal() : null;
    }

    /** The order of Spark: NaN is equal to itself and above all other numbers, -0.0 is 0.0. */
    static int compare(Object left, Object right) {
        if (left instanceof Double) {
            return Double.compare(((Double) left).doubleValue() + 0.0d, ((Double) right).doubleValue() + 0.0d);
        }
        if (left instanceof UTF8String) {
            return ((UTF8String) left).binaryCompare((UTF8String) right);
        }
        if (left instanceof Long) {
            return ((Long) left).compareTo((Long) right);
        }
        if (left instanceof BigDecimal) {
            return ((BigDecimal) left).compareTo((BigDecimal) right);
        }
        return ((Boolean) left).compareTo((Boolean) right);
    }

    /** Of strings with a collation the order is another than that of the bytes. */
    static boolean isPlainText(DataType type) {
        return DataTypes.StringType.equals(type);
    }

    private static boolean isWhole(DataType type) {
        return type instanceof ByteType || type instanceof ShortType || type instanceof IntegerType
            || type instanceof LongType;
    }

    private static Long days(String text) {
        try {
            return Long.valueOf(LocalDate.parse(text).toEpochDay());
        } catch (DateTimeException other) {
            return null;
        }
    }
}
