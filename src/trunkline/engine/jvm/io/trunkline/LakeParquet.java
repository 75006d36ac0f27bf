package io.trunkline;

import java.util.Arrays;
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
 * Parquet without the last column, which is about the row: the rules that it broke. Rows that
 * broke one of `dropped` are not written.
 */
public class LakeParquet extends ParquetFileFormat {
    private final long dropped;

    public LakeParquet(long dropped) {
        this.dropped = dropped;
    }

    public OutputWriterFactory prepareWrite(SparkSession session, Job job, Map options, StructType schema) {
        StructField[] fields = schema.fields();
        StructType kept = new StructType((StructField[]) Arrays.copyOf(fields, fields.length - 1));
        return new Factory(super.prepareWrite(session, job, options, kept), kept, dropped);
    }

    public static class Factory extends OutputWriterFactory {
        private final OutputWriterFactory inner;
        private final StructType kept;
        private final long dropped;

        public Factory(OutputWriterFactory inner, StructType kept, long dropped) {
            this.inner = inner;
            this.kept = kept;
            this.dropped = dropped;
        }

        public String getFileExtension(TaskAttemptContext task) {
            return inner.getFileExtension(task);
        }

        public OutputWriter newInstance(String path, StructType schema, TaskAttemptContext task) {
            return new Writer(inner.newInstance(path, kept, task), kept, dropped);
        }
    }

    public static class Writer extends OutputWriter {
        private final OutputWriter inner;
        private final ProjectingInternalRow row;
        private final int rules;
        private final long dropped;

        public Writer(OutputWriter inner, StructType kept, long dropped) {
            this.inner = inner;
            this.dropped = dropped;
            this.rules = kept.length();
            this.row = Scala.firstColumns(kept);
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
