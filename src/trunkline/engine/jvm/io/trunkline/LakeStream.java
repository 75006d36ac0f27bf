package io.trunkline;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.streaming.Offset;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.sources.StreamSourceProvider;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Some;
import scala.Tuple2;

/**
 * Inputs of a streaming query that get their rows one micro-batch at a time, when we say so.
 *
 * All inputs of a query share a feed and count its batches: an offset is the number of the batch.
 * The query's thread waits in `getOffset` for the next one, so when it waits, Spark has written
 * all that it keeps of the batch before.
 */
public class LakeStream implements StreamSourceProvider {
    private static final Map FEEDS = new ConcurrentHashMap();

    /** Make a feed whose batches so far were `done` in number. */
    public static void open(String feed, long done) {
        FEEDS.put(feed, new Feed(done));
    }

    public static void close(String feed) {
        FEEDS.remove(feed);
    }

    /** Give every input its rows of the next batch, in one step. By input; others have none. */
    public static long release(String feed, Map rows) {
        return feed(feed).release(rows);
    }

    /** Whether Spark is done with all that was released, waiting so long for it to be. */
    public static boolean idle(String feed, long millis) throws InterruptedException {
        return feed(feed).idle(millis);
    }

    static Feed feed(String name) {
        Feed found = (Feed) FEEDS.get(name);
        if (found == null) {
            throw new IllegalStateException("the feed " + name + " is closed");
        }
        return found;
    }

    public Tuple2 sourceSchema(SQLContext context, Option schema, String name,
            scala.collection.immutable.Map options) {
        return new Tuple2(name, schema.get());
    }

    public Source createSource(SQLContext context, String metadata, Option schema, String name,
            scala.collection.immutable.Map options) {
        Feed feed = feed((String) options.apply("feed"));
        return new Input(feed, (String) options.apply("input"), (StructType) schema.get(),
            (SparkSession) context.sparkSession());
    }

    /** What the inputs of one query share. */
    static class Feed {
        final long done;
        private long released;
        private long wanted;
        private Map rows = new HashMap();

        Feed(long done) {
            this.done = done;
            this.released = done;
            this.wanted = done;
        }

        synchronized long release(Map next) {
            rows = next;
            released++;
            notifyAll();
            return released;
        }

        synchronized boolean idle(long millis) throws InterruptedException {
            long began = System.nanoTime();
            while (wanted <= released) {
                long left = millis - (System.nanoTime() - began) / 1000000;
                if (left <= 0) {
                    return false;
                }
                wait(left);
            }
            return true;
        }

        synchronized long next(long seen) throws InterruptedException {
            while (released <= seen) {
                wanted = seen + 1;
                notifyAll();
                wait();
            }
            return released;
        }

        synchronized Dataset of(String input, long number) {
            return number == released ? (Dataset) rows.get(input) : null;
        }
    }

    static class Input implements Source {
        private final Feed feed;
        private final String name;
        private final StructType schema;
        private final SparkSession session;
        private long seen;

        Input(Feed feed, String name, StructType schema, SparkSession session) {
            this.feed = feed;
            this.name = name;
            this.schema = schema;
            this.session = session;
            // Not what is released by now: the query may be slower to start than its first batch.
            this.seen = feed.done;
        }

        public StructType schema() {
            return schema;
        }

        public Option getOffset() {
            try {
                seen = feed.next(seen);
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
                throw new RuntimeException(stopped);
            }
            return new Some(new Batch(seen));
        }

        public org.apache.spark.sql.Dataset getBatch(Option start, Offset end) {
            // On a restart Spark asks for the batch before, and does nothing with it.
            Dataset rows = feed.of(name, Long.parseLong(end.json()));
            LogicalPlan plan = rows == null
                ? StreamPlans.none(schema)
                : StreamPlans.streaming(rows.queryExecution().analyzed(), true);
            return Dataset$.MODULE$.ofRows(session, plan);
        }

        public void stop() {
            // The feed is closed by who opened it.
        }

        public String toString() {
            return "lake input " + name;
        }
    }

    static class Batch extends Offset {
        private final long number;

        Batch(long number) {
            this.number = number;
        }

        public String json() {
            return Long.toString(number);
        }
    }
}
