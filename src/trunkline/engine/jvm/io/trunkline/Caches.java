package io.trunkline;

import java.lang.reflect.Method;
import java.util.Iterator;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.RDDOperationScope;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CacheManager;
import org.apache.spark.sql.execution.CachedData;
import scala.None$;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** What a call of a transform keeps in memory. Spark has one list of it for all its sessions. */
public final class Caches {
    private static final String MARK = "trunkline.call";
    private static final String SCOPE = "spark.rdd.scope";

    private Caches() {}

    /**
     * From now on what this session caches, and RDDs that this thread makes, can be told from
     * those of others by the mark that is given back.
     */
    public static String begin(SparkSession session) {
        String mark = UUID.randomUUID().toString();
        // Spark caches in a copy of the session, which has its settings, but not its identity.
        session.sessionState().conf().setConfString(MARK, mark);
        // The only thing about the thread that an RDD notes when it is made.
        RDDOperationScope scope = new RDDOperationScope("trunkline", (Option) None$.MODULE$, mark);
        session.sparkContext().setLocalProperty(SCOPE, scope.toJson());
        return mark;
    }

    /** Let go of all that has the mark, and of nothing else. In the thread that began. */
    public static void release(SparkSession session, String mark) throws Exception {
        SparkContext context = session.sparkContext();
        context.setLocalProperty(SCOPE, null);
        CacheManager manager = session.sharedState().cacheManager();
        if (!manager.isEmpty()) {
            Method list = CacheManager.class.getDeclaredMethod("cachedData", new Class[0]);
            list.setAccessible(true);
            Object all = list.invoke(manager, new Object[0]);
            // The newest are first: those that were made from others go before them.
            Iterator found = CollectionConverters.asJava((scala.collection.Iterable) all).iterator();
            while (found.hasNext()) {
                CachedData data = (CachedData) found.next();
                SparkSession owner = data.cachedRepresentation().cacheBuilder().cachedPlan().session();
                if (owner != null && mark.equals(owner.sessionState().conf().getConfString(MARK, ""))) {
                    manager.uncacheQuery(session, data.plan(), false, false);
                }
            }
        }
        Iterator kept = CollectionConverters.asJava(context.getPersistentRDDs()).values().iterator();
        while (kept.hasNext()) {
            RDD rdd = (RDD) kept.next();
            if (rdd.scope().isDefined() && isBelow((RDDOperationScope) rdd.scope().get(), mark)) {
                rdd.unpersist(false);
            }
        }
    }

    private static boolean isBelow(RDDOperationScope scope, String mark) {
        Iterator all = CollectionConverters.asJava(scope.getAllScopes()).iterator();
        while (all.hasNext()) {
            if (mark.equals(((RDDOperationScope) all.next()).id())) {
                return true;
            }
        }
        return false;
    }
}
