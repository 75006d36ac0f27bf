package io.trunkline;

import java.io.IOException;
import java.io.Serializable;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonGenerator;
import org.apache.spark.sql.execution.datasources.WriteJobStatsTracker;
import org.apache.spark.sql.execution.datasources.WriteTaskStats;
import org.apache.spark.sql.execution.datasources.WriteTaskStatsTracker;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** What was written, learned in the pass that writes: rows, fingerprint, statistics, broken rules. */
public class LakeTracker implements WriteJobStatsTracker {
    private final StructType data;
    private final int rules;
    private final long dropped;
    private final int samples;
    final transient List tasks = new ArrayList();

    /** Rows are the columns of `data`, the rules that the row broke (bits), then others. */
    public LakeTracker(StructType data, int rules, long dropped, int samples) {
        this.data = data;
        this.rules = rules;
        this.dropped = dropped;
        this.samples = samples;
    }

    public WriteTaskStatsTracker newTaskInstance() {
        return new Task(data, rules, dropped, samples);
    }

    public void processStats(Seq found, long time) {
        for (int i = 0; i < found.length(); i++) {
            tasks.add(found.apply(i));
        }
    }

    /** One file. */
    public static class File implements Serializable {
        long rows;
        long first;
        long second;
        long size;
        String statistics = "{}";
    }

    /** One task: its files by path, how often each rule was broken, and a few rows that did. */
    public static class Stats implements WriteTaskStats {
        final Map files = new HashMap();
        final long[] broken;
        final List[] rows;
        long seen;

        public Stats(int rules) {
            broken = new long[rules];
            rows = new List[rules];
            for (int i = 0; i < rules; i++) {
                rows[i] = new ArrayList();
            }
        }
    }

    public static class Task implements WriteTaskStatsTracker {
        private final StructType data;
        private final int bits;
        private final RowHash hash;
        private final long dropped;
        private final int samples;
        private final Stats stats;
        private String path = "";
        private File file;

        public Task(StructType data, int rules, long dropped, int samples) {
            this.data = data;
            this.bits = data.length();
            this.hash = new RowHash(data);
            this.dropped = dropped;
            this.samples = samples;
            this.stats = new Stats(rules);
        }

        public void newPartition(InternalRow values) {}

        public void newFile(String path) {
            stats.files.put(path, new File());
        }

        public void newRow(String path, InternalRow row) {
            if (path != this.path) {
                this.path = path;
                this.file = (File) stats.files.get(path);
            }
            stats.seen++;
            long broken = row.getLong(bits);
            if (broken != 0L) {
                count(broken, row);
                if ((broken & dropped) != 0L) {
                    return;
                }
            }
            hash.of(row);
            file.rows++;
            file.first += hash.first;
            file.second += hash.second;
        }

        private void count(long broken, InternalRow row) {
            for (int i = 0; i < stats.broken.length; i++) {
                if ((broken & (1L << i)) != 0L) {
                    stats.broken[i]++;
                    if (stats.rows[i].size() < samples) {
                        stats.rows[i].add(json(row));
                    }
                }
            }
        }

        private String json(InternalRow row) {
            StringWriter text = new StringWriter();
            JSONOptions options = new JSONOptions(Scala.map(new HashMap()), "UTC", "");
            JacksonGenerator writer = new JacksonGenerator(data, text, options);
            ProjectingInternalRow shown = Scala.firstColumns(data);
            shown.project(row);
            writer.write(shown);
            writer.flush();
            return text.toString();
        }

        public void closeFile(String path) {
            File file = (File) stats.files.get(path);
            Configuration conf = SparkHadoopUtil.get().conf();
            Path place = new Path(path);
            try {
                file.size = place.getFileSystem(conf).getFileStatus(place).getLen();
                file.statistics = FileStatistics.read(place, conf).toString();
                if ("file".equals(place.toUri().getScheme())) {
                    sync(place.toUri().getPath());
                }
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }

        private static void sync(String path) throws IOException {
            FileChannel channel = FileChannel.open(Paths.get(path), new StandardOpenOption[] {StandardOpenOption.WRITE});
            try {
                channel.force(true);
            } finally {
                channel.close();
            }
        }

        public WriteTaskStats getFinalStats(long time) {
            return stats;
        }
    }
}
