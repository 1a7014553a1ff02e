package org.gpugda.neo4j;

import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Transaction;
import org.neo4j.internal.kernel.api.security.AccessMode;
import org.neo4j.kernel.impl.coreapi.InternalTransaction;
import org.neo4j.kernel.impl.factory.DbmsInfo;
import org.neo4j.kernel.internal.GraphDatabaseAPI;

/** Privileges of a caller to see changes, which cover all nodes and relationships. */
final class Rights {
    private Rights() {}

    /** True if the caller may know which nodes and relationships changed; false if that is not certain. */
    static boolean seesEverything(GraphDatabaseService database, Transaction transaction) {
        try {
            AccessMode mode = ((InternalTransaction) transaction).kernelTransaction().securityContext().mode();
            return mode.allowsTraverseAllLabels() && mode.allowsTraverseAllRelTypes();
        } catch (RuntimeException | LinkageError error) {
            return readsEverything(database);
        }
    }

    /** True if every caller may see values. Under privileges values are read by queries, which apply them. */
    static boolean readsEverything(GraphDatabaseService database) {
        try {
            return ((GraphDatabaseAPI) database).dbmsInfo() == DbmsInfo.COMMUNITY;
        } catch (RuntimeException | LinkageError error) {
            return false;
        }
    }
}
