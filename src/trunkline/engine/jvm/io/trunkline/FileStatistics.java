package io.trunkline;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.schema.LogicalTypeAnnotation.DateLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimestampLogicalTypeAnnotation;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Least and greatest value of a file's columns, as JSON: {"column": [min, max, nulls]}. They are
 * held against Spark's own expressions, whose literals have the types of the columns: what is no
 * plain comparison of a column with a literal, such as one of a struct's field, rules nothing out.
 */
final class FileStatistics {
    private static final ObjectMapper JSON =
        new ObjectMapper().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);
    private static final int MOST_COLUMNS = 64;
    private static final String OTHER_CALENDAR = "org.apache.spark.legacyDateTime";

    private final Map columns = new HashMap();

    private FileStatistics(JsonNode found) {
        for (Iterator each = found.fields(); each.hasNext();) {
            Map.Entry one = (Map.Entry) each.next();
            columns.put(folded((String) one.getKey()), one.getValue());
        }
    }

    /** False only if no row of a file with these statistics can pass all filters. */
    static boolean mayMatch(String statistics, Expression[] filters) {
        if (filters.length == 0 || statistics.isEmpty()) {
            return true;
        }
        FileStatistics found;
        try {
            found = new FileStatistics((JsonNode) JSON.readTree(statistics));
        } catch (IOException damaged) {
            return true;
        }
        for (int i = 0; i < filters.length; i++) {
            if (!found.mayBe(filters[i])) {
                return false;
            }
        }
        return true;
    }

    private boolean mayBe(Expression filter) {
        if (filter instanceof And) {
            return mayBe(((And) filter).left()) && mayBe(((And) filter).right());
        }
        if (filter instanceof Or) {
            return mayBe(((Or) filter).left()) || mayBe(((Or) filter).right());
        }
        if (filter instanceof Not) {
            Expression inner = ((Not) filter).child();
            if (inner instanceof AttributeReference) {
                return contains(inner, Boolean.FALSE);
            }
            return !(inner instanceof EqualTo) || mayDiffer((EqualTo) inner);
        }
        if (filter instanceof AttributeReference) {
            return contains(filter, Boolean.TRUE);
        }
        if (filter instanceof IsNull) {
            return mayBeNull(((IsNull) filter).child());
        }
        if (filter instanceof In) {
            return mayBeIn((In) filter);
        }
        if (filter instanceof InSet) {
            InSet one = (InSet) filter;
            for (scala.collection.Iterator each = one.hset().iterator(); each.hasNext();) {
                if (contains(one.child(), each.next())) {
                    return true;
                }
            }
            return false;
        }
        if (filter instanceof StartsWith) {
            StartsWith one = (StartsWith) filter;
            return mayStart(one.left(), one.right());
        }
        return mayCompare(filter);
    }

    private boolean mayCompare(Expression filter) {
        if (filter.children().length() != 2) {
            return true;
        }
        Expression left = (Expression) filter.children().apply(0);
        Expression right = (Expression) filter.children().apply(1);
        boolean turned = left instanceof Literal;
        Expression column = turned ? right : left;
        Expression other = turned ? left : right;
        if (!isComparable(column, other)) {
            return true;
        }
        Object value = ((Literal) other).value();
        if (filter instanceof EqualNullSafe) {
            return value == null ? mayBeNull(column) : contains(column, value);
        }
        if (value == null) {
            return true;
        }
        if (filter instanceof EqualTo) {
            return contains(column, value);
        }
        if (filter instanceof GreaterThan) {
            return turned ? least(column, value, -1) : greatest(column, value, 1);
        }
        if (filter instanceof GreaterThanOrEqual) {
            return turned ? least(column, value, 0) : greatest(column, value, 0);
        }
        if (filter instanceof LessThan) {
            return turned ? greatest(column, value, 1) : least(column, value, -1);
        }
        if (filter instanceof LessThanOrEqual) {
            return turned ? greatest(column, value, 0) : least(column, value, 0);
        }
        return true;
    }

    private static boolean isComparable(Expression column, Expression other) {
        return column instanceof AttributeReference && other instanceof Literal
            && column.dataType().equals(other.dataType());
    }

    private boolean mayBeIn(In filter) {
        for (int i = 0; i < filter.list().length(); i++) {
            Expression one = (Expression) filter.list().apply(i);
            if (!isComparable(filter.value(), one) || contains(filter.value(), ((Literal) one).value())) {
                return true;
            }
        }
        return false;
    }

    /** Whether a value may be another: not if all that there are are the same, and this one. */
    private boolean mayDiffer(EqualTo filter) {
        boolean turned = filter.left() instanceof Literal;
        Expression column = turned ? filter.right() : filter.left();
        Expression other = turned ? filter.left() : filter.right();
        if (!isComparable(column, other)) {
            return true;
        }
        Object value = Values.own(((Literal) other).value(), column.dataType());
        Object low = bound(column, 0);
        Object high = bound(column, 1);
        return value == null || low == null || high == null
            || Values.compare(low, value) != 0 || Values.compare(high, value) != 0;
    }

    private boolean mayBeNull(Expression column) {
        JsonNode found = found(column);
        JsonNode nulls = found == null ? null : (JsonNode) found.get(2);
        return nulls == null || !nulls.isIntegralNumber() || nulls.longValue() != 0;
    }

    private boolean mayStart(Expression column, Expression other) {
        if (!isComparable(column, other) || !Values.isPlainText(column.dataType())) {
            return true;
        }
        UTF8String start = (UTF8String) ((Literal) other).value();
        if (start == null) {
            return true;
        }
        UTF8String low = (UTF8String) bound(column, 0);
        UTF8String high = (UTF8String) bound(column, 1);
        boolean above = low != null && !low.startsWith(start) && low.binaryCompare(start) > 0;
        return !above && (high == null || high.binaryCompare(start) >= 0);
    }

    private boolean contains(Expression column, Object value) {
        return value != null && least(column, value, 0) && greatest(column, value, 0);
    }

    /** Whether the least value compares to `value` as `limit`, or below; true if unknown. */
    private boolean least(Expression column, Object value, int limit) {
        Object bound = bound(column, 0);
        Object own = Values.own(value, column.dataType());
        return bound == null || own == null || Integer.signum(Values.compare(bound, own)) <= limit;
    }

    private boolean greatest(Expression column, Object value, int limit) {
        Object bound = bound(column, 1);
        Object own = Values.own(value, column.dataType());
        return bound == null || own == null || Integer.signum(Values.compare(bound, own)) >= limit;
    }

    private Object bound(Expression column, int place) {
        JsonNode found = found(column);
        return found == null ? null : Values.read((JsonNode) found.get(place), column.dataType());
    }

    private JsonNode found(Expression column) {
        if (!(column instanceof AttributeReference)) {
            return null;
        }
        return (JsonNode) columns.get(folded(((AttributeReference) column).name()));
    }

    private static String folded(String name) {
        return name.toLowerCase(Locale.ROOT);
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
            boolean otherCalendar = reader.getFooter().getFileMetaData().getKeyValueMetaData()
                .containsKey(OTHER_CALENDAR);
            ObjectNode found = JsonNodeFactory.instance.objectNode();
            for (Iterator each = merged.entrySet().iterator(); each.hasNext();) {
                Map.Entry one = (Map.Entry) each.next();
                ArrayNode bounds = bounds((Statistics) one.getValue(), otherCalendar);
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

    private static ArrayNode bounds(Statistics statistics, boolean otherCalendar) {
        if (statistics == null) {
            return null;
        }
        PrimitiveType type = statistics.type();
        boolean strange = otherCalendar
            && (type.getLogicalTypeAnnotation() instanceof DateLogicalTypeAnnotation
                || type.getLogicalTypeAnnotation() instanceof TimestampLogicalTypeAnnotation);
        boolean known = statistics.hasNonNullValue() && !strange
            && type.getPrimitiveTypeName() != PrimitiveTypeName.INT96;
        JsonNode least = known ? Values.written(type, statistics.genericGetMin(), false) : null;
        JsonNode greatest = known ? Values.written(type, statistics.genericGetMax(), true) : null;
        ArrayNode bounds = JsonNodeFactory.instance.arrayNode();
        bounds.add(least == null ? JsonNodeFactory.instance.nullNode() : least);
        bounds.add(greatest == null ? JsonNodeFactory.instance.nullNode() : greatest);
        bounds.add(statistics.getNumNulls());
        return bounds;
    }
}
