package org.gpugda.neo4j;

import java.util.List;
import java.util.function.BiFunction;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Transaction;
import org.neo4j.kernel.api.KernelTransaction;
import org.neo4j.kernel.impl.coreapi.InternalTransaction;
import org.neo4j.procedure.Context;
import org.neo4j.procedure.Description;
import org.neo4j.procedure.Mode;
import org.neo4j.procedure.Name;
import org.neo4j.procedure.Procedure;
import org.neo4j.procedure.TerminationGuard;

/** Pages of the graph, read with the caller's privileges: invisible entities are left out. */
public class ExportProcedures {
    private static final long MOST = 1 << 24;
    /** Ids per row: its arrays are small enough for the garbage collector's regions, unlike those of a page. */
    private static final long ROW = 1 << 16;

    @Context
    public Transaction transaction;

    @Context
    public GraphDatabaseService database;

    @Context
    public TerminationGuard guard;

    @Procedure(name = "gpugda.nodes", mode = Mode.READ)
    @Description("The nodes with ids from first to last, in rows of some ids each: first id, offsets from it (nothing if no id is missing), codes and label sets.")
    public Stream<NodePage.Row> nodes(@Name("first") long first, @Name("last") long last) {
        KernelTransaction kernel = kernel();
        return rows(first, last, (low, high) -> new NodePage(kernel, guard, low, high).read(database));
    }

    @Procedure(name = "gpugda.relationships", mode = Mode.READ)
    @Description("The relationships with ids from first to last, in rows likewise: ids, ends, codes and types.")
    public Stream<RelationshipPage.Row> relationships(@Name("first") long first, @Name("last") long last) {
        KernelTransaction kernel = kernel();
        return rows(first, last, (low, high) -> new RelationshipPage(kernel, guard, low, high).read(database));
    }

    @Procedure(name = "gpugda.properties", mode = Mode.READ)
    @Description("Columns of the keys, of the nodes (else relationships) with the ids: eight bytes each, little-endian.")
    public Stream<PropertyPage.Row> properties(
            @Name("ofNodes") boolean ofNodes, @Name("keys") List<String> keys, @Name("ids") byte[] ids) {
        return new PropertyPage(kernel(), guard, keys).read(ofNodes, Columns.longs(ids));
    }

    private KernelTransaction kernel() {
        return ((InternalTransaction) transaction).kernelTransaction();
    }

    /** Reads each row when it is sent: a transaction that sends many costs little more memory than one of them. */
    private static <R> Stream<R> rows(long first, long last, BiFunction<Long, Long, R> read) {
        check(first, last);
        return LongStream.iterate(first, low -> low <= last, low -> low + ROW)
                .mapToObj(low -> read.apply(low, Math.min(last, low + ROW - 1)));
    }

    private static void check(long first, long last) {
        if (first < 0 || last < first || last - first >= MOST)
            throw new IllegalArgumentException("A page has 1 to " + MOST + " ids, but it is asked for " + first + " to " + last);
    }
}
