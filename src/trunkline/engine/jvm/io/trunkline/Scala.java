package io.trunkline;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Java's collections as Scala's, and a view of a row that is as awkward to make from here. */
final class Scala {
    private Scala() {}

    static Seq seq(List values) {
        return CollectionConverters.asScala(values).toSeq();
    }

    static scala.collection.immutable.Map map(java.util.Map values) {
        return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(values));
    }

    /** A view of the first columns of a row, as many as the schema has. */
    static ProjectingInternalRow firstColumns(StructType schema) {
        int[] places = new int[schema.length()];
        for (int i = 0; i < places.length; i++) {
            places[i] = i;
        }
        return columns(schema, places);
    }

    /** A view of the columns of a row at some places, which have that schema. */
    static ProjectingInternalRow columns(StructType schema, int[] chosen) {
        List places = new ArrayList();
        for (int i = 0; i < chosen.length; i++) {
            places.add(Integer.valueOf(chosen[i]));
        }
        return ProjectingInternalRow.apply(schema, seq(places).toIndexedSeq());
    }
}
