package io.trunkline;

import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionDirectory$;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** The files of a table as a manifest lists them: no file system is asked, at no time. */
public class LakeIndex implements FileIndex {
    private final String name;
    private final StructType partitionSchema;
    private final InternalRow[] partitions;
    private final FileStatus[] files;
    private final int[] partitionOf;
    private final String[] statistics;
    private long size = 0;

    /** Each line of `lines` is a file: URI, size, number of its partition, statistics. */
    public LakeIndex(String name, String lines, StructType partitionSchema, InternalRow[] partitions) {
        this.name = name;
        this.partitionSchema = partitionSchema;
        this.partitions = partitions;
        String[] each = lines.isEmpty() ? new String[0] : lines.split("\n");
        this.files = new FileStatus[each.length];
        this.partitionOf = new int[each.length];
        this.statistics = new String[each.length];
        for (int i = 0; i < each.length; i++) {
            String[] fields = each[i].split("\t", 4);
            long length = Long.parseLong(fields[1]);
            size += length;
            files[i] = new FileStatus(length, false, 1, 128L << 20, 0L, new Path(URI.create(fields[0])));
            partitionOf[i] = Integer.parseInt(fields[2]);
            statistics[i] = fields[3];
        }
    }

    String name() {
        return name;
    }

    public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
        boolean[] wanted = wantedPartitions(partitionFilters);
        Expression[] filters = new Expression[dataFilters.length()];
        for (int i = 0; i < filters.length; i++) {
            filters[i] = (Expression) dataFilters.apply(i);
        }
        List[] found = new List[partitions.length];
        for (int i = 0; i < files.length; i++) {
            int partition = partitionOf[i];
            if (!wanted[partition] || !FileStatistics.mayMatch(statistics[i], filters)) {
                continue;
            }
            if (found[partition] == null) {
                found[partition] = new ArrayList();
            }
            found[partition].add(files[i]);
        }
        List directories = new ArrayList();
        for (int i = 0; i < partitions.length; i++) {
            if (found[i] != null) {
                FileStatus[] held = (FileStatus[]) found[i].toArray(new FileStatus[0]);
                PartitionDirectory one = PartitionDirectory$.MODULE$.apply(partitions[i], held);
                directories.add(one);
            }
        }
        return Scala.seq(directories);
    }

    private boolean[] wantedPartitions(Seq filters) {
        boolean[] wanted = new boolean[partitions.length];
        Expression all = null;
        for (int i = 0; i < filters.length(); i++) {
            Expression one = (Expression) filters.apply(i);
            all = all == null ? one : new And(all, one);
        }
        org.apache.spark.sql.catalyst.expressions.BasePredicate test = null;
        if (all != null) {
            test = Predicate$.MODULE$.createInterpreted(
                (Expression) all.transform(new BindByName(partitionSchema)));
        }
        for (int i = 0; i < partitions.length; i++) {
            wanted[i] = test == null || test.eval(partitions[i]);
        }
        return wanted;
    }

    public Seq rootPaths() {
        List named = new ArrayList();
        named.add(new Path("lake:/" + name.replace(':', '/')));
        return Scala.seq(named);
    }

    public String[] inputFiles() {
        String[] names = new String[files.length];
        for (int i = 0; i < files.length; i++) {
            names[i] = files[i].getPath().toString();
        }
        return names;
    }

    public void refresh() {
        // A commit never changes.
    }

    public long sizeInBytes() {
        return size;
    }

    public StructType partitionSchema() {
        return partitionSchema;
    }

    public String toString() {
        return name + " (" + files.length + " files)";
    }

    public boolean equals(Object other) {
        return other == this;
    }

    public int hashCode() {
        return System.identityHashCode(this);
    }
}
