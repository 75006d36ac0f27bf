package io.trunkline;

import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.execution.datasources.OutputWriter;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map;

/**
 * Parquet of some columns. The last of a row is about it, the rules that it broke; those that
 * folders are named after are left out too. Rows that broke one of `dropped` are not written.
 */
public class LakeParquet extends ParquetFileFormat {
    private final int[] inside;
    private final long dropped;

    /** `inside` are the places of the columns that are written. */
    public LakeParquet(int[] inside, long dropped) {
        this.inside = inside;
        this.dropped = dropped;
    }

    public OutputWriterFactory prepareWrite(SparkSession session, Job job, Map options, StructType schema) {
        StructField[] fields = schema.fields();
        StructField[] chosen = new StructField[inside.length];
        for (int i = 0; i < inside.length; i++) {
            chosen[i] = fields[inside[i]];
        }
        StructType kept = new StructType(chosen);
        return new Factory(super.prepareWrite(session, job, options, kept), kept, inside,
            fields.length - 1, dropped);
    }

    public static class Factory extends OutputWriterFactory {
        private final OutputWriterFactory inner;
        private final StructType kept;
        private final int[] inside;
        private final int rules;
        private final long dropped;

        public Factory(OutputWriterFactory inner, StructType kept, int[] inside, int rules, long dropped) {
            this.inner = inner;
            this.kept = kept;
            this.inside = inside;
            this.rules = rules;
            this.dropped = dropped;
        }

        public String getFileExtension(TaskAttemptContext task) {
            return inner.getFileExtension(task);
        }

        public OutputWriter newInstance(String path, StructType schema, TaskAttemptContext task) {
            return new Writer(
                inner.newInstance(path, kept, task), Scala.columns(kept, inside), rules, dropped);
        }
    }

    public static class Writer extends OutputWriter {
        private final OutputWriter inner;
        private final ProjectingInternalRow row;
        private final int rules;
        private final long dropped;

        public Writer(OutputWriter inner, ProjectingInternalRow row, int rules, long dropped) {
            this.inner = inner;
            this.row = row;
            this.rules = rules;
            this.dropped = dropped;
        }

        public void write(InternalRow record) {
            if (dropped != 0L && (record.getLong(rules) & dropped) != 0L) {
                return;
            }
            row.project(record);
            inner.write(row);
        }

        public void close() {
            inner.close();
        }

        public String path() {
            return inner.path();
        }
    }
}
