package io.trunkline;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.DateLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.StringLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimestampLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeUnit;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Or;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Least and greatest value of a file's columns, as JSON: {"column": [min, max, nulls]}.
 * Dates are ISO text, timestamps microseconds, decimals numbers.
 */
final class FileStatistics {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MOST_COLUMNS = 64;
    private static final int LONGEST_TEXT = 64;

    private FileStatistics() {}

    /** False only if no row of a file with these statistics can pass all filters. */
    static boolean mayMatch(String statistics, Filter[] filters) {
        if (filters.length == 0 || statistics.isEmpty()) {
            return true;
        }
        JsonNode columns;
        try {
            columns = (JsonNode) JSON.readTree(statistics);
        } catch (IOException damaged) {
            return true;
        }
        for (int i = 0; i < filters.length; i++) {
            if (!mayMatch(columns, filters[i])) {
                return false;
            }
        }
        return true;
    }

    private static boolean mayMatch(JsonNode columns, Filter filter) {
        if (filter instanceof And) {
            And both = (And) filter;
            return mayMatch(columns, both.left()) && mayMatch(columns, both.right());
        }
        if (filter instanceof Or) {
            Or either = (Or) filter;
            return mayMatch(columns, either.left()) || mayMatch(columns, either.right());
        }
        if (filter instanceof EqualTo) {
            EqualTo one = (EqualTo) filter;
            return contains((JsonNode) columns.get(one.attribute()), one.value());
        }
        if (filter instanceof EqualNullSafe) {
            EqualNullSafe one = (EqualNullSafe) filter;
            return one.value() == null || contains((JsonNode) columns.get(one.attribute()), one.value());
        }
        if (filter instanceof In) {
            In one = (In) filter;
            Object[] values = one.values();
            JsonNode column = (JsonNode) columns.get(one.attribute());
            for (int i = 0; i < values.length; i++) {
                if (values[i] == null || contains(column, values[i])) {
                    return true;
                }
            }
            return false;
        }
        if (filter instanceof GreaterThan) {
            GreaterThan one = (GreaterThan) filter;
            return greatest((JsonNode) columns.get(one.attribute()), one.value(), 1);
        }
        if (filter instanceof GreaterThanOrEqual) {
            GreaterThanOrEqual one = (GreaterThanOrEqual) filter;
            return greatest((JsonNode) columns.get(one.attribute()), one.value(), 0);
        }
        if (filter instanceof LessThan) {
            LessThan one = (LessThan) filter;
            return least((JsonNode) columns.get(one.attribute()), one.value(), -1);
        }
        if (filter instanceof LessThanOrEqual) {
            LessThanOrEqual one = (LessThanOrEqual) filter;
            return least((JsonNode) columns.get(one.attribute()), one.value(), 0);
        }
        return true;
    }

    private static boolean contains(JsonNode column, Object value) {
        return least(column, value, 0) && greatest(column, value, 0);
    }

    /** Whether the least value compares to `value` as `limit`, or below; true if unknown. */
    private static boolean least(JsonNode column, Object value, int limit) {
        Integer found = column == null ? null : compare((JsonNode) column.get(0), value);
        return found == null || Integer.signum(found.intValue()) <= limit;
    }

    private static boolean greatest(JsonNode column, Object value, int limit) {
        Integer found = column == null ? null : compare((JsonNode) column.get(1), value);
        return found == null || Integer.signum(found.intValue()) >= limit;
    }

    private static Integer compare(JsonNode bound, Object value) {
        if (bound == null || bound.isNull()) {
            return null;
        }
        if (bound.isTextual()) {
            String text = textOf(value);
            if (text == null) {
                return null;
            }
            UTF8String left = UTF8String.fromString(bound.textValue());
            return Integer.valueOf(left.binaryCompare(UTF8String.fromString(text)));
        }
        if (bound.isNumber()) {
            BigDecimal number = numberOf(value);
            return number == null ? null : Integer.valueOf(bound.decimalValue().compareTo(number));
        }
        if (bound.isBoolean() && value instanceof Boolean) {
            return Integer.valueOf(Boolean.compare(bound.booleanValue(), ((Boolean) value).booleanValue()));
        }
        return null;
    }

    private static String textOf(Object value) {
        if (value instanceof String || value instanceof LocalDate || value instanceof java.sql.Date) {
            return value.toString();
        }
        return null;
    }

    private static BigDecimal numberOf(Object value) {
        if (value instanceof Double || value instanceof Float) {
            double number = ((Number) value).doubleValue();
            return Double.isNaN(number) || Double.isInfinite(number) ? null : new BigDecimal(number);
        }
        if (value instanceof BigDecimal) {
            return (BigDecimal) value;
        }
        if (value instanceof Number) {
            return BigDecimal.valueOf(((Number) value).longValue());
        }
        if (value instanceof java.sql.Timestamp) {
            return micros(((java.sql.Timestamp) value).toInstant());
        }
        if (value instanceof Instant) {
            return micros((Instant) value);
        }
        if (value instanceof LocalDateTime) {
            return micros(((LocalDateTime) value).toInstant(ZoneOffset.UTC));
        }
        return null;
    }

    private static BigDecimal micros(Instant moment) {
        return BigDecimal.valueOf(moment.getEpochSecond() * 1000000L + moment.getNano() / 1000);
    }

    /** The statistics of a Parquet file, from its footer. */
    static ObjectNode read(Path path, Configuration conf) throws IOException {
        ParquetFileReader reader = ParquetFileReader.open(HadoopInputFile.fromPath(path, conf));
        try {
            Map merged = new HashMap();
            List blocks = reader.getFooter().getBlocks();
            for (int i = 0; i < blocks.size(); i++) {
                merge(merged, ((BlockMetaData) blocks.get(i)).getColumns());
            }
            ObjectNode found = JsonNodeFactory.instance.objectNode();
            for (Iterator each = merged.entrySet().iterator(); each.hasNext();) {
                Map.Entry one = (Map.Entry) each.next();
                ArrayNode bounds = bounds((Statistics) one.getValue());
                if (bounds != null) {
                    found.set((String) one.getKey(), bounds);
                }
            }
            return found;
        } finally {
            reader.close();
        }
    }

    private static void merge(Map merged, List columns) {
        for (int i = 0; i < columns.size() && i < MOST_COLUMNS; i++) {
            ColumnChunkMetaData column = (ColumnChunkMetaData) columns.get(i);
            Statistics statistics = column.getStatistics();
            String[] path = column.getPath().toArray();
            if (path.length != 1) {
                continue;
            }
            // Neither bounds nor nothing but nulls: this block may hold anything.
            boolean known = statistics != null && statistics.isNumNullsSet()
                && (statistics.hasNonNullValue() || statistics.getNumNulls() == column.getValueCount());
            if (!known) {
                merged.put(path[0], null);
            } else if (!merged.containsKey(path[0])) {
                merged.put(path[0], statistics);
            } else if (merged.get(path[0]) != null) {
                ((Statistics) merged.get(path[0])).mergeStatistics(statistics);
            }
        }
    }

    private static ArrayNode bounds(Statistics statistics) {
        if (statistics == null) {
            return null;
        }
        ArrayNode bounds = JsonNodeFactory.instance.arrayNode();
        PrimitiveType type = statistics.type();
        JsonNode least = null;
        JsonNode greatest = null;
        if (statistics.hasNonNullValue()) {
            least = shown(type, statistics.genericGetMin());
            greatest = shown(type, statistics.genericGetMax());
        }
        bounds.add(least == null || greatest == null ? JsonNodeFactory.instance.nullNode() : least);
        bounds.add(least == null || greatest == null ? JsonNodeFactory.instance.nullNode() : greatest);
        bounds.add(statistics.getNumNulls());
        return bounds;
    }

    private static JsonNode shown(PrimitiveType type, Object value) {
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
            LocalDate date = LocalDate.ofEpochDay(((Integer) value).longValue());
            return date.getYear() < 1 || date.getYear() > 9999 ? null : make.textNode(date.toString());
        }
        if (logical instanceof TimestampLogicalTypeAnnotation) {
            TimeUnit unit = ((TimestampLogicalTypeAnnotation) logical).getUnit();
            long number = ((Long) value).longValue();
            if (unit == TimeUnit.MICROS) {
                return make.numberNode(number);
            }
            return unit == TimeUnit.MILLIS ? make.numberNode(number * 1000L) : null;
        }
        if (logical instanceof StringLogicalTypeAnnotation) {
            String text = ((Binary) value).toStringUsingUTF8();
            return text.length() > LONGEST_TEXT ? null : make.textNode(text);
        }
        if (value instanceof Boolean) {
            return make.booleanNode(((Boolean) value).booleanValue());
        }
        if (value instanceof Double || value instanceof Float) {
            double number = ((Number) value).doubleValue();
            return Double.isNaN(number) || Double.isInfinite(number) ? null : make.numberNode(number);
        }
        if (value instanceof Number) {
            return make.numberNode(((Number) value).longValue());
        }
        return null;
    }
}
