package io.trunkline;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistryBase;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedGenerator;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.parser.NamedParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedHint;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Product;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;

/**
 * SQL as Spark itself reads it: one plan, which tells what is in it before anything is looked up,
 * and which is then what runs. The text is not read again.
 */
public final class Statement {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final SparkSession session;
    private final LogicalPlan plan;

    private Statement(SparkSession session, LogicalPlan plan) {
        this.session = session;
        this.plan = plan;
    }

    /** The statement of a text; `values` are columns by the names of the text's parameters. */
    public static Statement read(SparkSession session, String text, Map values) throws Exception {
        return new Statement(session, (LogicalPlan) within(session, new Read(session, text, values)));
    }

    /** What is in an expression that stands for itself, as JSON. */
    public static String expression(SparkSession session, String text) throws Exception {
        Contents found = new Contents(session);
        found.add(within(session, new ReadExpression(session, text)), null);
        return found.told.toString();
    }

    /** What is in it, as JSON: classes by name; functions, hints and relations with their places. */
    public String contents() {
        Contents found = new Contents(session);
        found.add(plan, null);
        return found.told.toString();
    }

    public Dataset rows() {
        return Dataset$.MODULE$.ofRows(session, plan);
    }

    /**
     * Read a file of texts, parted by \\036, and write one with a line for each: its contents, or
     * nothing where Spark cannot read it.
     */
    public static void readAll(SparkSession session, String texts, String contents) throws Exception {
        String whole = new String(Files.readAllBytes(new File(texts).toPath()), "UTF-8");
        String[] parts = whole.split("\036", -1);
        Writer lines = new OutputStreamWriter(new FileOutputStream(contents), "UTF-8");
        try {
            for (int i = 0; i < parts.length; i++) {
                try {
                    lines.write(read(session, parts[i], new HashMap()).contents());
                } catch (Exception error) {
                    // It is no SQL to Spark.
                }
                lines.write('\n');
            }
        } finally {
            lines.close();
        }
    }

    /** Take functions out of a session, whatever they are called in front of their names. */
    public static void dropFunctions(SparkSession session, String names) {
        Set doomed = new HashSet(Arrays.asList(names.split(" ")));
        drop(session.sessionState().functionRegistry(), doomed);
        drop(session.sessionState().tableFunctionRegistry(), doomed);
    }

    private static void drop(FunctionRegistryBase registry, Set doomed) {
        Iterator all = CollectionConverters.asJava(registry.listFunction()).iterator();
        while (all.hasNext()) {
            FunctionIdentifier name = (FunctionIdentifier) all.next();
            if (doomed.contains(name.funcName())) {
                registry.dropFunction(name);
            }
        }
    }

    /** Parsing depends on settings, which are those of the thread's session. */
    private static Object within(SparkSession session, AbstractFunction0 body) throws Exception {
        return SQLConf$.MODULE$.withExistingConf(session.sessionState().conf(), body);
    }

    private static ParserInterface parser(SparkSession session) {
        return session.sessionState().sqlParser();
    }

    private static final class Read extends AbstractFunction0 {
        private final SparkSession session;
        private final String text;
        private final Map values;

        Read(SparkSession session, String text, Map values) {
            this.session = session;
            this.text = text;
            this.values = values;
        }

        public Object apply() {
            Map expressions = new HashMap();
            Iterator names = values.keySet().iterator();
            while (names.hasNext()) {
                Object name = names.next();
                expressions.put(name, session.expression((Column) values.get(name)));
            }
            NamedParameterContext given =
                new NamedParameterContext(session.resolveAndValidateParameters(Scala.map(expressions)));
            try {
                return parser(session).parsePlanWithParameters(text, given);
            } catch (ParseException error) {
                // A function of Scala declares nothing that it throws.
                Platform.throwException(error);
                return null;
            }
        }
    }

    private static final class ReadExpression extends AbstractFunction0 {
        private final SparkSession session;
        private final String text;

        ReadExpression(SparkSession session, String text) {
            this.session = session;
            this.text = text;
        }

        public Object apply() {
            try {
                return parser(session).parseExpression(text);
            } catch (ParseException error) {
                Platform.throwException(error);
                return null;
            }
        }
    }

    /** Names of a WITH that can be seen from some place. */
    private static final class Scope {
        private final String name;
        private final Scope outer;

        Scope(String name, Scope outer) {
            this.name = name;
            this.outer = outer;
        }
    }

    private static final class Contents {
        final ObjectNode told = JSON.createObjectNode();
        private final ArrayNode classes = told.putArray("classes");
        private final ArrayNode functions = told.putArray("functions");
        private final ArrayNode relations = told.putArray("relations");
        private final Set known = new HashSet();
        private final Map seen = new IdentityHashMap();
        private final boolean exact;
        private TreeNode last;

        Contents(SparkSession session) {
            exact = session.sessionState().conf().caseSensitiveAnalysis();
            told.put("exact", exact);
        }

        /** All that can be reached from a value: what Spark does not list as children too. */
        void add(Object value, Scope scope) {
            if (value == null || value instanceof String || value instanceof DataType) {
                return;
            }
            if (value instanceof TreeNode) {
                if (seen.put(value, value) != null) {
                    return;
                }
                TreeNode outer = last;
                last = (TreeNode) value;
                inside(last, scope);
                last = outer;
            } else if (value instanceof scala.collection.Iterable) {
                each(CollectionConverters.asJava((scala.collection.Iterable) value).iterator(), scope);
            } else if (value instanceof Product) {
                name(value.getClass().getName());
                each(CollectionConverters.asJava(((Product) value).productIterator()), scope);
            } else {
                name(value.getClass().getName());
            }
        }

        private void inside(TreeNode node, Scope scope) {
            name(node.getClass().getName());
            if (node instanceof UnresolvedWith) {
                with((UnresolvedWith) node, scope);
                return;
            }
            if (node instanceof UnresolvedRelation) {
                relation((UnresolvedRelation) node, scope);
                return;
            }
            if (node instanceof Literal) {
                return;
            }
            if (node instanceof UnresolvedFunction) {
                UnresolvedFunction function = (UnresolvedFunction) node;
                called(function.isInternal() ? "internal" : "scalar", function.arguments(),
                    function.nameParts());
            } else if (node instanceof UnresolvedTableValuedFunction) {
                UnresolvedTableValuedFunction function = (UnresolvedTableValuedFunction) node;
                called(function.isStreaming() ? "stream" : "table", function.functionArgs(),
                    function.name());
            } else if (node instanceof UnresolvedGenerator) {
                UnresolvedGenerator function = (UnresolvedGenerator) node;
                called("scalar", function.children(), function.name().nameParts());
            } else if (node instanceof UnresolvedHint) {
                UnresolvedHint hint = (UnresolvedHint) node;
                functions.add(placed("hint", hint.parameters()).add(hint.name()));
            }
            each(CollectionConverters.asJava(node.productIterator()), scope);
            each(CollectionConverters.asJava(node.children()).iterator(), scope);
            each(CollectionConverters.asJava(node.innerChildren()).iterator(), scope);
        }

        private void with(UnresolvedWith node, Scope outer) {
            Scope scope = outer;
            Iterator clauses = CollectionConverters.asJava(node.cteRelations()).iterator();
            while (clauses.hasNext()) {
                Tuple3 clause = (Tuple3) clauses.next();
                Scope following = new Scope((String) clause._1(), scope);
                add(clause._2(), node.allowRecursion() ? following : scope);
                scope = following;
            }
            add(node.child(), scope);
        }

        private void relation(UnresolvedRelation node, Scope scope) {
            Seq parts = node.multipartIdentifier();
            if (!node.options().isEmpty()) {
                name("UnresolvedRelation.options");
            }
            if (node.isStreaming()) {
                name("UnresolvedRelation.isStreaming");
            }
            if (parts.length() == 1) {
                String own = (String) parts.apply(0);
                for (Scope known = scope; known != null; known = known.outer) {
                    if (exact ? known.name.equals(own) : known.name.equalsIgnoreCase(own)) {
                        return;
                    }
                }
            }
            relations.add(named(placed("relation", null), parts));
        }

        private void called(String kind, Seq arguments, Seq parts) {
            functions.add(named(placed(kind, arguments), parts));
        }

        private ArrayNode named(ArrayNode told, Seq parts) {
            Iterator each = CollectionConverters.asJava(parts).iterator();
            while (each.hasNext()) {
                told.add((String) each.next());
            }
            return told;
        }

        private void name(String type) {
            if (known.add(type)) {
                classes.add(type);
            }
        }

        private ArrayNode placed(String kind, Seq arguments) {
            QueryContext place = last.origin().context();
            ArrayNode told = JSON.createArrayNode().add(kind);
            ArrayNode texts = told.addArray();
            for (int i = 0; arguments != null && i < arguments.length(); i++) {
                texts.add(argument(arguments.apply(i)));
            }
            return told.add(place.startIndex()).add(place.stopIndex());
        }

        /** A text that is written out, the name of a function in a list, or null. */
        private JsonNode argument(Object value) {
            if (value instanceof Literal && ((Literal) value).value() instanceof UTF8String) {
                return JSON.getNodeFactory().textNode(((Literal) value).value().toString());
            }
            if (value instanceof UnresolvedFunction) {
                return named(JSON.createArrayNode(), ((UnresolvedFunction) value).nameParts());
            }
            return JSON.getNodeFactory().nullNode();
        }

        private void each(Iterator values, Scope scope) {
            while (values.hasNext()) {
                add(values.next(), scope);
            }
        }
    }
}
