package io.trunkline;

import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.types.StructType;
import scala.runtime.AbstractPartialFunction;

/** Puts a place in a row where a filter names a column. */
public class BindByName extends AbstractPartialFunction {
    private final StructType schema;

    public BindByName(StructType schema) {
        this.schema = schema;
    }

    public boolean isDefinedAt(Object expression) {
        return expression instanceof AttributeReference;
    }

    public Object applyOrElse(Object expression, scala.Function1 otherwise) {
        if (!(expression instanceof AttributeReference)) {
            return otherwise.apply(expression);
        }
        AttributeReference column = (AttributeReference) expression;
        String[] names = schema.fieldNames();
        for (int i = 0; i < names.length; i++) {
            if (names[i].equalsIgnoreCase(column.name())) {
                return new BoundReference(i, column.dataType(), true);
            }
        }
        return expression;
    }
}
