package org.gpugda.neo4j;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Transaction;
import org.neo4j.graphdb.event.TransactionData;
import org.neo4j.graphdb.event.TransactionEventListener;

/**
 * Records what the transactions of one database change, while a client follows it.
 *
 * <p>Transactions get their numbers after they begin to commit, and report after they have ended, in any order; some
 * numbers belong to transactions that change no data and never report. So each committing transaction is tracked from
 * before it has a number: one that began when the newest reported number was N gets a larger number than N. Everything
 * up to the smallest such N is known; transactions up to it that have not reported never will.
 */
final class Recorder implements TransactionEventListener<Pending> {
    /** Identifies this start of the database: recordings of another start are invalid. */
    final String instance = UUID.randomUUID().toString();

    private final Names names = new Names();
    private final long mostBytes;
    private final long idleNanos;
    private final Ring ring;
    private final Set<Pending> pending = new HashSet<>();
    private KeptKeys keys = KeptKeys.NONE;
    private boolean following;
    private long newest = Internals.UNKNOWN;
    private long askedAt;

    Recorder(long mostBytes, long idleNanos) {
        this.mostBytes = mostBytes;
        this.idleNanos = idleNanos;
        this.ring = new Ring(mostBytes);
    }

    // ------------------------------------------------------------------ events of the database
    @Override
    public Pending beforeCommit(TransactionData data, Transaction transaction, GraphDatabaseService database) {
        Pending one;
        boolean record;
        synchronized (this) {
            one = new Pending(newest, keys);
            pending.add(one);
            record = following;
        }
        if (record) capture(one, data, transaction);
        return one;
    }

    private void capture(Pending one, TransactionData data, Transaction transaction) {
        try {
            one.captured(Capture.of(data, names, one.keys, mostBytes), Internals.state(transaction));
        } catch (RuntimeException | LinkageError error) {
            // The user's transaction must not fail: the gap is reported when a client asks.
            one.recorded = false;
        }
    }

    @Override
    public void afterCommit(TransactionData data, Pending one, GraphDatabaseService database) {
        long transaction = numberOf(data);
        synchronized (this) {
            pending.remove(one);
            newest = Math.max(newest, transaction);
            if (following) add(transaction, one, data);
            notifyAll();
        }
    }

    private void add(long transaction, Pending one, TransactionData data) {
        if (System.nanoTime() - askedAt > idleNanos) {
            forget();
            return;
        }
        if (transaction == Internals.UNKNOWN) forget();
        else if (one.recorded && one.changes != null && one.stillHolds() && data.isLast()) ring.add(transaction, one.changes);
        else ring.startAfter(transaction);
        keys = keys.notKeptBy(one.keys, transaction);
    }

    @Override
    public synchronized void afterRollback(TransactionData data, Pending one, GraphDatabaseService database) {
        pending.remove(one);
        notifyAll();
    }

    private static long numberOf(TransactionData data) {
        try {
            return data.getTransactionId();
        } catch (RuntimeException error) {
            return Internals.UNKNOWN;
        }
    }

    private void forget() {
        following = false;
        keys = KeptKeys.NONE;
        ring.startAfter(newest);
    }

    // ------------------------------------------------------------------ requests of clients
    /** Starts recording changes and the values of these keys; returns the state from which on they are known. */
    synchronized long follow(List<String> nodeKeys, List<String> relationshipKeys, long closed) {
        askedAt = System.nanoTime();
        long now = Math.max(newest, closed);
        newest = now;
        if (!following) ring.startAfter(now);
        following = true;
        keys = keys.with(nodeKeys, relationshipKeys, now);
        return now;
    }

    /** The changes since a state. */
    synchronized Found changes(long since, long closed, long waitMillis) throws InterruptedException {
        askedAt = System.nanoTime();
        newest = Math.max(newest, closed);
        // If the server does not report closed transactions, there may always be later ones.
        long asked = closed <= 0 ? Long.MAX_VALUE : newest;
        await(newest, waitMillis);
        long last = Math.max(known(), following ? ring.unbrokenFrom(since) : since);
        return new Found(following, ring.start(), last, asked, ring.between(since, last), keys, names);
    }

    synchronized Map<String, Long> numbers() {
        return Map.of("bytes", ring.bytes(), "transactions", (long) ring.size(), "following", following ? 1L : 0L);
    }

    /** Waits until no committing transaction can get a number up to this one. */
    private void await(long wanted, long waitMillis) throws InterruptedException {
        List<Pending> before = new ArrayList<>(pending);
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMillis);
        while (before.removeIf(one -> one.floor >= wanted || !pending.contains(one)) || !before.isEmpty()) {
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (before.isEmpty() || left <= 0) return;
            wait(left);
        }
    }

    /** The newest transaction up to which all that will ever report have reported. */
    private long known() {
        long found = newest;
        for (Pending one : pending) found = Math.min(found, one.floor);
        return found;
    }

    /** The data for a client's answer, which is packed after the lock is released. */
    record Found(
            boolean following,
            long start,
            long last,
            long newest,
            List<Map.Entry<Long, Changes>> changes,
            KeptKeys keys,
            Names names) {}
}
