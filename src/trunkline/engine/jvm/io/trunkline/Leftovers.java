package io.trunkline;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogWithListener;
import org.apache.spark.sql.catalyst.catalog.InMemoryCatalog;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.state.StateStore$;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** What one command leaves in a JVM that serves another after it. */
public final class Leftovers {
    private static final double FULL = 0.6;
    private static final String CATALOG = "spark.sql.catalogImplementation";
    private static SparkContext context;
    private static SparkSession root;
    private static Map hadoop;
    private static Properties system;
    private static long added;

    private Leftovers() {}

    /** This is how it should be again: what a new Spark is set to. */
    public static void remember(SparkContext fresh) {
        context = fresh;
        hadoop = pairs(fresh.hadoopConfiguration());
        system = (Properties) System.getProperties().clone();
        added = added();
    }

    public static JavaSparkContext context() {
        return JavaSparkContext.fromSparkContext(context);
    }

    /** A session without views, settings and functions of any that was there before. */
    public static SparkSession session() {
        if (root == null) {
            Option known = SparkSession.getDefaultSession();
            if (known.isEmpty()) {
                return null;
            }
            root = (SparkSession) known.get();
        }
        return (SparkSession) root.newSession();
    }

    /** Take it all away. Why this JVM should serve nobody else, or an empty text. */
    public static String sweep() throws Exception {
        endChildren();
        if (context.isStopped()) {
            return "Spark has stopped";
        }
        if (context.statusTracker().getActiveJobIds().length > 0) {
            return "something still runs";
        }
        if (added() != added) {
            return "files were added to it";
        }
        // Made by whatever was first: all sessions share what is found by way of one.
        SparkSession any = session();
        if (any != null) {
            if (!any.sharedState().activeStreamingQueries().isEmpty()) {
                return "a stream still runs";
            }
            if (hasTables(any)) {
                return "its catalog has tables, databases or functions of its own";
            }
            // State that a stream has loaded stays open, with its files, until somebody says so.
            StateStore$.MODULE$.stop();
            any.sharedState().cacheManager().clearCache();
            any.sharedState().globalTempViewManager().clear();
            SparkSession.clearActiveSession();
            SparkSession.setDefaultSession(root);
        }
        Iterator kept = new ArrayList(CollectionConverters.asJava(context.getPersistentRDDs()).values()).iterator();
        while (kept.hasNext()) {
            ((RDD) kept.next()).unpersist(false);
        }
        context.checkpointDir_$eq(Option.empty());
        restore();
        // They hold the credentials of whoever asked first, and open without asking again.
        FileSystem.closeAll();
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        double used = runtime.totalMemory() - runtime.freeMemory();
        return used > FULL * runtime.maxMemory() ? "its memory is nearly full" : "";
    }

    /** Python's workers hold modules, an environment and a working folder of who used them. */
    private static void endChildren() {
        Iterator all = ProcessHandle.current().descendants().iterator();
        while (all.hasNext()) {
            ((ProcessHandle) all.next()).destroyForcibly();
        }
    }

    /** What is in its catalog is somebody's, and may be in a metastore or a folder of theirs. */
    private static boolean hasTables(SparkSession any) {
        if (!"in-memory".equals(context.conf().get(CATALOG, "in-memory"))) {
            return true;
        }
        ExternalCatalogWithListener catalog = any.sharedState().externalCatalog();
        return !(catalog.unwrapped() instanceof InMemoryCatalog)
                || catalog.listDatabases().size() > 1
                || !catalog.listTables("default").isEmpty()
                || !catalog.listFunctions("default", "*").isEmpty();
    }

    private static long added() {
        return context.listFiles().size() + context.listJars().size() + context.listArchives().size();
    }

    private static void restore() {
        Configuration conf = context.hadoopConfiguration();
        Iterator now = pairs(conf).keySet().iterator();
        while (now.hasNext()) {
            String name = (String) now.next();
            if (!hadoop.containsKey(name)) {
                conf.unset(name);
            }
        }
        Iterator before = hadoop.entrySet().iterator();
        while (before.hasNext()) {
            Map.Entry pair = (Map.Entry) before.next();
            if (!pair.getValue().equals(conf.getRaw((String) pair.getKey()))) {
                conf.set((String) pair.getKey(), (String) pair.getValue());
            }
        }
        System.setProperties((Properties) system.clone());
    }

    private static Map pairs(Configuration conf) {
        Map found = new HashMap();
        Iterator all = conf.iterator();
        while (all.hasNext()) {
            Map.Entry pair = (Map.Entry) all.next();
            found.put(pair.getKey(), conf.getRaw((String) pair.getKey()));
        }
        return found;
    }
}
