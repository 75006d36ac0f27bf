package io.trunkline;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.types.DataTypeUtils$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.AccumulatorV2;
import scala.Option;
import scala.None$;
import scala.runtime.AbstractPartialFunction;

/** Plans of streams: rows of a batch as part of one, and what its operators refuse as late. */
public final class StreamPlans {
    private static final String DELAY = "spark.watermarkDelayMs";
    /** What gives the same rows however the stream is cut into batches. */
    private static final Set ROW_BY_ROW = new HashSet();

    static {
        ROW_BY_ROW.add("Project");
        ROW_BY_ROW.add("Filter");
        ROW_BY_ROW.add("Union");
        ROW_BY_ROW.add("Generate");
        ROW_BY_ROW.add("Expand");
        ROW_BY_ROW.add("Sample");
        ROW_BY_ROW.add("Sort");
        ROW_BY_ROW.add("SubqueryAlias");
        ROW_BY_ROW.add("View");
        ROW_BY_ROW.add("WithCTE");
        ROW_BY_ROW.add("CTERelationDef");
        ROW_BY_ROW.add("CTERelationRef");
        ROW_BY_ROW.add("ResolvedHint");
        ROW_BY_ROW.add("CollectMetrics");
        ROW_BY_ROW.add("EventTimeWatermark");
        ROW_BY_ROW.add("Repartition");
        ROW_BY_ROW.add("RepartitionByExpression");
        ROW_BY_ROW.add("RebalancePartitions");
        ROW_BY_ROW.add("MapInPandas");
        ROW_BY_ROW.add("MapInArrow");
        ROW_BY_ROW.add("PythonMapInArrow");
        ROW_BY_ROW.add("LateralJoin");
    }

    private StreamPlans() {}

    static LogicalPlan none(StructType schema) {
        return new LocalRelation(DataTypeUtils$.MODULE$.toAttributes(schema),
            Scala.seq(new ArrayList()), true, (Option) None$.MODULE$);
    }

    /** The same plan, its leaves those of a stream or not. */
    static LogicalPlan streaming(LogicalPlan plan, boolean is) {
        return (LogicalPlan) plan.transformUp(new Leaves(is));
    }

    /** The operators that look at more than one row, by Spark's names, from the sources down. */
    public static String stateful(Dataset rows) {
        List found = new ArrayList();
        collect(rows.queryExecution().analyzed(), found);
        StringBuilder names = new StringBuilder();
        for (int i = 0; i < found.size(); i++) {
            names.append(i == 0 ? "" : "\n").append(((LogicalPlan) found.get(i)).nodeName());
        }
        return names.toString();
    }

    private static boolean isStateful(LogicalPlan plan) {
        if (!plan.isStreaming()) {
            return false;
        }
        if (plan.children().isEmpty()) {
            return false;
        }
        if (plan instanceof Join) {
            return !isLookUp((Join) plan);
        }
        return !ROW_BY_ROW.contains(plan.nodeName());
    }

    /** Whether each row of the stream meets a table, and none of the table is kept for want of a
     *  row that may come in another batch. */
    private static boolean isLookUp(Join join) {
        String how = join.joinType().toString();
        if (how.equals("Inner") || how.equals("Cross")) {
            return !(join.left().isStreaming() && join.right().isStreaming());
        }
        return how.equals("RightOuter") ? !join.left().isStreaming()
            : !how.equals("FullOuter") && !join.right().isStreaming();
    }

    private static void collect(LogicalPlan plan, List found) {
        for (int i = 0; i < plan.children().length(); i++) {
            collect((LogicalPlan) plan.children().apply(i), found);
        }
        for (int i = 0; i < plan.subqueries().length(); i++) {
            LogicalPlan inner = (LogicalPlan) plan.subqueries().apply(i);
            if (inner.isStreaming()) {
                found.add(inner);
            }
        }
        if (isStateful(plan)) {
            found.add(plan);
        }
    }

    /**
     * The rows of a batch that the first operators with state pass over, since the watermark of
     * `micros` is beyond them: for each input of such an operator its name, then a DataFrame.
     */
    public static List late(SparkSession session, LogicalPlan batch, long micros) {
        List operators = new ArrayList();
        collect(batch, operators);
        List found = new ArrayList();
        for (int i = 0; i < operators.size(); i++) {
            LogicalPlan operator = (LogicalPlan) operators.get(i);
            for (int k = 0; k < operator.children().length(); k++) {
                LogicalPlan child = (LogicalPlan) operator.children().apply(k);
                List below = new ArrayList();
                collect(child, below);
                Attribute time = child.isStreaming() && below.isEmpty() ? time(operator, child) : null;
                if (time != null) {
                    addByInput(session, new Filter(isLate(time, micros), child), found);
                }
            }
        }
        return found;
    }

    /** The rows of a plan, apart for each input that they come from: without state between, streams
     *  can only have been put together as a union. */
    private static void addByInput(SparkSession session, LogicalPlan plan, List found) {
        List names = new ArrayList();
        inputs(plan, names);
        if (names.isEmpty()) {
            names.add("");
        }
        for (int i = 0; i < names.size(); i++) {
            LogicalPlan own = names.size() == 1
                ? plan : (LogicalPlan) plan.transformUp(new Others((String) names.get(i)));
            found.add(names.get(i));
            found.add(Dataset$.MODULE$.ofRows(session, streaming(own, false)));
        }
    }

    private static void inputs(LogicalPlan plan, List names) {
        String name = input(plan);
        if (name != null && !names.contains(name)) {
            names.add(name);
        }
        for (int i = 0; i < plan.children().length(); i++) {
            inputs((LogicalPlan) plan.children().apply(i), names);
        }
    }

    /** The input that a leaf of a plan reads; null if it is none of ours. */
    private static String input(LogicalPlan plan) {
        if (plan instanceof LogicalRelation && plan.isStreaming()) {
            Object relation = ((LogicalRelation) plan).relation();
            if (relation instanceof HadoopFsRelation
                    && ((HadoopFsRelation) relation).location() instanceof LakeIndex) {
                return ((LakeIndex) ((HadoopFsRelation) relation).location()).name();
            }
        }
        return null;
    }

    /** How many rows the operators of a batch that has run passed over as late. */
    public static long dropped(SparkPlan plan) {
        Option metric = plan.metrics().get("numRowsDroppedByWatermark");
        long rows = metric.isDefined() ? ((Long) ((AccumulatorV2) metric.get()).value()).longValue() : 0L;
        for (int i = 0; i < plan.children().length(); i++) {
            rows += dropped((SparkPlan) plan.children().apply(i));
        }
        return rows;
    }

    private static Expression isLate(Attribute time, long micros) {
        Expression end = time;
        if (time.dataType() instanceof StructType) {
            end = new GetStructField(time, 1, (Option) None$.MODULE$);
        }
        return new LessThanOrEqual(end, new Literal(Long.valueOf(micros), end.dataType()));
    }

    /** The column that an operator tells late rows by. */
    private static Attribute time(LogicalPlan operator, LogicalPlan child) {
        scala.collection.Iterator all = operator instanceof Aggregate
            ? ((Aggregate) operator).groupingExpressions().iterator()
            : child.output().iterator();
        while (all.hasNext()) {
            Object one = all.next();
            if (one instanceof Attribute && ((Attribute) one).metadata().contains(DELAY)) {
                return (Attribute) one;
            }
        }
        return null;
    }

    /** Inputs but one, without their rows. */
    static class Others extends AbstractPartialFunction {
        private final String name;

        Others(String name) {
            this.name = name;
        }

        public boolean isDefinedAt(Object plan) {
            String found = input((LogicalPlan) plan);
            return found != null && !found.equals(name);
        }

        public Object applyOrElse(Object plan, scala.Function1 otherwise) {
            if (!isDefinedAt(plan)) {
                return otherwise.apply(plan);
            }
            return new LocalRelation(((LogicalRelation) plan).output(), Scala.seq(new ArrayList()),
                true, (Option) None$.MODULE$);
        }
    }

    static class Leaves extends AbstractPartialFunction {
        private final boolean streaming;

        Leaves(boolean streaming) {
            this.streaming = streaming;
        }

        public boolean isDefinedAt(Object plan) {
            return plan instanceof LogicalRelation || plan instanceof LocalRelation
                || (!streaming && plan instanceof EventTimeWatermark);
        }

        public Object applyOrElse(Object plan, scala.Function1 otherwise) {
            if (plan instanceof LogicalRelation) {
                LogicalRelation one = (LogicalRelation) plan;
                return one.copy(one.relation(), one.output(), one.catalogTable(), streaming, one.stream());
            }
            if (plan instanceof LocalRelation) {
                LocalRelation one = (LocalRelation) plan;
                return one.copy(one.output(), one.data(), streaming, one.stream());
            }
            if (!streaming && plan instanceof EventTimeWatermark) {
                return ((EventTimeWatermark) plan).child();
            }
            return otherwise.apply(plan);
        }
    }
}
