package org.gpugda.neo4j;

import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Transaction;
import org.neo4j.internal.kernel.api.security.AccessMode;
import org.neo4j.kernel.impl.coreapi.InternalTransaction;
import org.neo4j.kernel.impl.factory.DbmsInfo;
import org.neo4j.kernel.internal.GraphDatabaseAPI;

/** What a caller may be told of changes, which are of all nodes and relationships. */
final class Rights {
    private Rights() {}

    /** May the caller be told which nodes and relationships changed? Where that is not certain: no. */
    static boolean seesEverything(GraphDatabaseService database, Transaction transaction) {
        try {
            AccessMode mode = ((InternalTransaction) transaction).kernelTransaction().securityContext().mode();
            return mode.allowsTraverseAllLabels() && mode.allowsTraverseAllRelTypes();
        } catch (RuntimeException | LinkageError error) {
            return readsEverything(database);
        }
    }

    /** May any caller be told values? Where there are privileges they are read by queries, which know better. */
    static boolean readsEverything(GraphDatabaseService database) {
        try {
            return ((GraphDatabaseAPI) database).dbmsInfo() == DbmsInfo.COMMUNITY;
        } catch (RuntimeException | LinkageError error) {
            return false;
        }
    }
}
