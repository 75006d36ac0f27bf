package io.trunkline;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileFormatWriter$;
import org.apache.spark.sql.execution.datasources.FileFormatWriter.OutputSpec;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.None$;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** What Python calls: a table's files as a DataFrame, and a DataFrame into files. */
public final class Tables {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Tables() {}

    /**
     * A DataFrame over the files of `lines` (see LakeIndex). `partitions` is JSON: for each
     * partition a list of its values, as text or null.
     */
    public static Dataset read(
            SparkSession session, String name, String lines, String schema, String partitionSchema,
            String partitions, String format, Map options) throws Exception {
        StructType columns = fields(schema);
        StructType keys = fields(partitionSchema);
        LakeIndex index = new LakeIndex(name, lines, keys, rows(partitions, keys));
        FileFormat reader = (FileFormat) Class.forName(format).getDeclaredConstructor(new Class[0])
            .newInstance(new Object[0]);
        HadoopFsRelation relation = new HadoopFsRelation(
            index, keys, columns, (Option) None$.MODULE$, reader, Scala.map(options), session);
        return session.baseRelationToDataFrame(relation);
    }

    /** The columns of a DDL text; there may be none. */
    private static StructType fields(String ddl) {
        return ddl.isEmpty() ? new StructType() : StructType.fromDDL(ddl);
    }

    private static InternalRow[] rows(String partitions, StructType keys) throws IOException {
        JsonNode lines = (JsonNode) JSON.readTree(partitions);
        InternalRow[] rows = new InternalRow[lines.size()];
        StructField[] fields = keys.fields();
        for (int i = 0; i < rows.length; i++) {
            JsonNode texts = (JsonNode) lines.get(i);
            Object[] values = new Object[fields.length];
            for (int k = 0; k < fields.length; k++) {
                JsonNode value = (JsonNode) texts.get(k);
                if (!value.isNull()) {
                    Literal text = Literal$.MODULE$.apply(value.textValue());
                    Cast cast = new Cast(text, fields[k].dataType(), (Option) new scala.Some("UTC"),
                        org.apache.spark.sql.catalyst.expressions.EvalMode$.MODULE$.ANSI());
                    values[k] = cast.eval(null);
                }
            }
            rows[i] = new GenericInternalRow(values);
        }
        return rows;
    }

    /**
     * Write rows as one Spark job. `expressions`, parted by \\0, are the columns of the table, the
     * rules that the row broke, and `partitionColumns` more to part the files by. `inside`, a list
     * in JSON, has the places of those of the table that the files hold. Says as JSON what files
     * there are now.
     */
    public static String write(
            Dataset rows, String expressions, String stem, String inside, int partitionColumns,
            int rules, long dropped, int samples) throws IOException {
        Dataset data = (Dataset) rows.selectExpr(expressions.split("\0"));
        QueryExecution query = data.queryExecution();
        SparkSession session = query.sparkSession();
        StructField[] fields = data.schema().fields();
        int own = fields.length - 1 - partitionColumns;
        StructType columns = new StructType((StructField[]) Arrays.copyOf(fields, own));
        LakeCommit commit = new LakeCommit(stem);
        LakeTracker tracker = new LakeTracker(columns, rules, dropped, samples);
        Write write = new Write(query, session, commit, tracker, stem, partitionColumns,
            new LakeParquet((int[]) JSON.readValue(inside, int[].class), dropped));
        SQLExecution$.MODULE$.withNewExecutionId(query, (Option) new scala.Some("trunkline"), write);
        return report(commit, tracker, rules).toString();
    }

    /** The same rows with their exact hashes as one more column, as text. */
    public static Dataset hashed(Dataset rows, String name) {
        StructType columns = rows.schema();
        RDD found = rows.queryExecution().toRdd()
            .map(new Hashed(columns), ClassTag$.MODULE$.apply(InternalRow.class));
        SparkSession session = rows.queryExecution().sparkSession();
        return session.internalCreateDataFrame(found, columns.add(name, DataTypes.StringType), false);
    }

    public static class Hashed extends AbstractFunction1 implements Serializable {
        private final StructType columns;
        private transient RowHash hash;

        public Hashed(StructType columns) {
            this.columns = columns;
        }

        public Object apply(Object row) {
            if (hash == null) {
                hash = new RowHash(columns);
            }
            hash.of((InternalRow) row);
            UTF8String text = UTF8String.fromString(Long.toHexString(hash.first) + "-" + Long.toHexString(hash.second));
            return new JoinedRow((InternalRow) row, new GenericInternalRow(new Object[] {text}));
        }
    }

    public static class Write extends AbstractFunction0 {
        private final QueryExecution query;
        private final SparkSession session;
        private final LakeCommit commit;
        private final LakeTracker tracker;
        private final String stem;
        private final int partitionColumns;
        private final FileFormat format;

        public Write(
                QueryExecution query, SparkSession session, LakeCommit commit, LakeTracker tracker,
                String stem, int partitionColumns, FileFormat format) {
            this.query = query;
            this.session = session;
            this.commit = commit;
            this.tracker = tracker;
            this.stem = stem;
            this.partitionColumns = partitionColumns;
            this.format = format;
        }

        public Object apply() {
            Seq all = query.analyzed().output();
            Seq parting = (Seq) all.takeRight(partitionColumns);
            OutputSpec spec = new OutputSpec(stem, Scala.map(new HashMap()), all);
            List trackers = new ArrayList();
            trackers.add(tracker);
            return FileFormatWriter$.MODULE$.write(
                session, query.executedPlan(), format, commit, spec,
                session.sessionState().newHadoopConf(),
                parting, (Option) None$.MODULE$, Scala.seq(trackers), Scala.map(new HashMap()), 0,
                new Nothing());
        }
    }

    public static class Nothing extends AbstractFunction0 {
        public Object apply() {
            return BoxedUnit.UNIT;
        }
    }

    private static ObjectNode report(LakeCommit commit, LakeTracker tracker, int rules) throws IOException {
        ObjectNode report = JSON.createObjectNode();
        ArrayNode files = report.putArray("files");
        long[] broken = new long[rules];
        long seen = 0;
        ArrayNode[] samples = new ArrayNode[rules];
        for (int i = 0; i < rules; i++) {
            samples[i] = JSON.createArrayNode();
        }
        for (int t = 0; t < tracker.tasks.size(); t++) {
            LakeTracker.Stats task = (LakeTracker.Stats) tracker.tasks.get(t);
            seen += task.seen;
            for (int i = 0; i < rules; i++) {
                broken[i] += task.broken[i];
                for (int k = 0; k < task.rows[i].size(); k++) {
                    samples[i].add((String) task.rows[i].get(k));
                }
            }
            for (Iterator each = task.files.entrySet().iterator(); each.hasNext();) {
                Map.Entry one = (Map.Entry) each.next();
                LakeTracker.File file = (LakeTracker.File) one.getValue();
                ObjectNode shown = files.addObject();
                shown.put("uri", (String) one.getKey());
                shown.put("folder", (String) commit.partitions.get(one.getKey()));
                shown.put("rows", file.rows);
                shown.put("first", Long.toHexString(file.first));
                shown.put("second", Long.toHexString(file.second));
                shown.put("size", file.size);
                shown.put("statistics", file.statistics);
            }
        }
        report.put("seen", seen);
        ArrayNode counts = report.putArray("broken");
        ArrayNode shown = report.putArray("samples");
        for (int i = 0; i < rules; i++) {
            counts.add(broken[i]);
            shown.add(samples[i]);
        }
        return report;
    }
}
