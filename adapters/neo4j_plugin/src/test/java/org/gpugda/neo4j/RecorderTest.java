package org.gpugda.neo4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.LongBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Label;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.RelationshipType;
import org.neo4j.graphdb.Transaction;
import org.neo4j.graphdb.event.TransactionData;
import org.neo4j.graphdb.event.TransactionEventListenerAdapter;

/** The recorder, attached to a real database. */
class RecorderTest {
    private static final String NAME = "neo4j";
    private static final long RING = 1 << 20;

    @TempDir
    static Path home;

    private static DatabaseManagementService server;
    private static GraphDatabaseService database;
    private Recorder recorder;
    private long start;

    @BeforeAll
    static void open() {
        server = new DatabaseManagementServiceBuilder(home).setConfig(PluginSettings.CHANGES_BYTES, RING).build();
        database = server.database(NAME);
    }

    @AfterAll
    static void close() {
        server.shutdown();
    }

    @BeforeEach
    void follow() {
        recorder = Recorders.of(NAME);
        start = recorder.follow(List.of("kept"), List.of(), Internals.closedTransaction(database));
    }

    private Recorder.Found changes() throws InterruptedException {
        return recorder.changes(start, Internals.closedTransaction(database), 5_000);
    }

    private List<Long> entries(Section section) throws InterruptedException {
        List<Long> found = new ArrayList<>();
        for (Map.Entry<Long, Changes> each : changes().changes())
            for (LongBuffer left = each.getValue().section(section); left.hasRemaining(); ) found.add(left.get());
        return found;
    }

    private boolean isGap() throws InterruptedException {
        return changes().start() > start;
    }

    @Test
    void eachDatabaseHasARecorderButNotTheSystem() {
        assertNotEquals(null, recorder);
        assertEquals(null, Recorders.of("system"));
    }

    @Test
    @SuppressWarnings("deprecation")
    void aCommitIsTold() throws InterruptedException {
        long from, to, between;
        try (Transaction transaction = database.beginTx()) {
            Node one = transaction.createNode(Label.label("A"));
            Node other = transaction.createNode();
            one.setProperty("kept", "value");
            one.setProperty("other", 1);
            between = one.createRelationshipTo(other, RelationshipType.withName("R")).getId();
            from = one.getId();
            to = other.getId();
            transaction.commit();
        }
        assertEquals(List.of(from, to), entries(Section.CREATED_NODES));
        assertEquals(List.of(between, from, to), entries(Section.CREATED_RELATIONSHIPS).subList(0, 3));
        assertEquals(4, entries(Section.NODE_PROPERTIES).size());
        List<Object> values = new ArrayList<>();
        for (Map.Entry<Long, Changes> each : changes().changes()) values.addAll(each.getValue().nodeValues());
        assertEquals(List.of("value"), values);
        assertFalse(isGap());
    }

    @Test
    void whatIsRolledBackIsNotTold() throws InterruptedException {
        try (Transaction transaction = database.beginTx()) {
            transaction.createNode();
            transaction.rollback();
        }
        try (Transaction transaction = database.beginTx()) {
            transaction.createNode().delete();
            transaction.commit();
        }
        assertEquals(List.of(), entries(Section.CREATED_NODES));
        assertFalse(isGap());
    }

    @Test
    void namesAndIndexesChangeNoDataAndAreNoGap() throws InterruptedException {
        try (Transaction transaction = database.beginTx()) {
            transaction.schema().indexFor(Label.label("Indexed")).on("key" + start).create();
            transaction.commit();
        }
        long closed = Internals.closedTransaction(database);
        assertTrue(closed > start);
        assertEquals(closed, changes().last());
        assertEquals(List.of(), changes().changes());
        assertFalse(isGap());
    }

    @Test
    void whatATriggerAddsIsAGapInsteadOfMissing() throws InterruptedException {
        var trigger = new TransactionEventListenerAdapter<Object>() {
            @Override
            public Object beforeCommit(TransactionData data, Transaction transaction, GraphDatabaseService service) {
                for (Node node : data.createdNodes()) transaction.getNodeByElementId(node.getElementId()).setProperty("by", "trigger");
                return null;
            }
        };
        server.registerTransactionEventListener(NAME, trigger);
        try (Transaction transaction = database.beginTx()) {
            transaction.createNode();
            transaction.commit();
        } finally {
            server.unregisterTransactionEventListener(NAME, trigger);
        }
        assertTrue(isGap());
    }

    @Test
    void aTriggerThatOnlyLooksIsNoGap() throws InterruptedException {
        var watcher = new TransactionEventListenerAdapter<Object>();
        server.registerTransactionEventListener(NAME, watcher);
        try (Transaction transaction = database.beginTx()) {
            transaction.createNode();
            transaction.commit();
        } finally {
            server.unregisterTransactionEventListener(NAME, watcher);
        }
        assertEquals(1, entries(Section.CREATED_NODES).size());
        assertFalse(isGap());
    }

    @Test
    void aTransactionLargerThanTheRingIsAGap() throws InterruptedException {
        try (Transaction transaction = database.beginTx()) {
            for (int i = 0; i < RING / 8 + 1; i++) transaction.createNode();
            transaction.commit();
        }
        assertTrue(isGap());
        assertEquals(0, recorder.numbers().get("bytes"));
    }

    @Test
    void valuesCountToo() throws InterruptedException {
        try (Transaction transaction = database.beginTx()) {
            transaction.createNode().setProperty("kept", "x".repeat((int) RING));
            transaction.commit();
        }
        assertTrue(isGap());
    }

    @Test
    void anAnswerWaitsForATransactionThatIsCommitting() throws Exception {
        CountDownLatch inside = new CountDownLatch(1), goOn = new CountDownLatch(1);
        var slow = new TransactionEventListenerAdapter<Object>() {
            @Override
            public void afterCommit(TransactionData data, Object state, GraphDatabaseService service) {
                inside.countDown();
                try {
                    goOn.await();
                } catch (InterruptedException error) {
                    Thread.currentThread().interrupt();
                }
            }
        };
        // Registered before the recorder, as if the thread paused after others can see its transaction.
        server.unregisterTransactionEventListener(NAME, recorder);
        server.registerTransactionEventListener(NAME, slow);
        server.registerTransactionEventListener(NAME, recorder);
        Thread writer = new Thread(() -> {
            try (Transaction transaction = database.beginTx()) {
                transaction.createNode();
                transaction.commit();
            }
        });
        writer.start();
        try {
            inside.await();
            long closed = Internals.closedTransaction(database);
            assertTrue(closed > start);
            assertEquals(start, recorder.changes(start, closed, 50).last());
            goOn.countDown();
            assertEquals(closed, recorder.changes(start, closed, 60_000).last());
            assertEquals(1, recorder.changes(start, closed, 0).changes().size());
        } finally {
            goOn.countDown();
            writer.join();
            server.unregisterTransactionEventListener(NAME, slow);
        }
    }

    @Test
    void keysAreKeptSinceTheyWereAskedFor() throws InterruptedException {
        try (Transaction transaction = database.beginTx()) {
            transaction.createNode().setProperty("late" + start, 1);
            transaction.commit();
        }
        long later = recorder.follow(List.of("late" + start), List.of(), Internals.closedTransaction(database));
        KeptKeys keys = changes().keys();
        assertTrue(keys.nodes().get("late" + start) >= later);
        assertTrue(keys.nodes().get("kept") <= start);
    }

    @Test
    void whoDoesNotAskForLongIsForgotten() throws InterruptedException {
        Recorder impatient = new Recorder(RING, 0);
        server.registerTransactionEventListener(NAME, impatient);
        try {
            long since = impatient.follow(List.of(), List.of(), Internals.closedTransaction(database));
            try (Transaction transaction = database.beginTx()) {
                transaction.createNode();
                transaction.commit();
            }
            assertFalse(impatient.changes(since, Internals.closedTransaction(database), 1_000).following());
        } finally {
            server.unregisterTransactionEventListener(NAME, impatient);
        }
    }
}
