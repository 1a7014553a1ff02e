package org.gpugda.neo4j;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Properties;
import java.util.stream.Stream;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Transaction;
import org.neo4j.procedure.Context;
import org.neo4j.procedure.Description;
import org.neo4j.procedure.Mode;
import org.neo4j.procedure.Name;
import org.neo4j.procedure.Procedure;

/** Procedures: facts about the plugin, and the recorded changes. */
public class ChangeProcedures {
    /** Increases when clients of the last format could not read the answers. */
    static final long FORMAT = 2;

    private static final long MOST_WAIT_MILLIS = 10_000;

    @Context
    public Transaction transaction;

    @Context
    public GraphDatabaseService database;

    /** The row of gpugda.plugin. */
    public static final class About {
        public String version;
        public long format;
        public boolean records;
        public boolean seesEverything;
        public long bytes;
        public long transactions;
    }

    /** The row of gpugda.follow. */
    public static final class Followed {
        public String instance;
        public long since;
        public String refused;
    }

    @Procedure(name = "gpugda.plugin", mode = Mode.READ)
    @Description("The plugin's version, the format of its answers, and what it records of this database.")
    public Stream<About> plugin() {
        About found = new About();
        found.version = version();
        found.format = FORMAT;
        found.seesEverything = Rights.seesEverything(database, transaction);
        Recorder recorder = Recorders.of(database.databaseName());
        found.records = recorder != null;
        if (recorder != null) {
            found.bytes = recorder.numbers().get("bytes");
            found.transactions = recorder.numbers().get("transactions");
        }
        return Stream.of(found);
    }

    @Procedure(name = "gpugda.follow", mode = Mode.READ)
    @Description("Starts recording changes and the values of these keys; returns the transaction from which on.")
    public Stream<Followed> follow(
            @Name("nodeKeys") List<String> nodeKeys, @Name("relationshipKeys") List<String> relationshipKeys) {
        Followed found = new Followed();
        Recorder recorder = Recorders.of(database.databaseName());
        found.refused = refusal(recorder);
        if (found.refused.isEmpty()) {
            found.instance = recorder.instance;
            found.since = recorder.follow(nodeKeys, relationshipKeys, Internals.closedTransaction(database));
        }
        return Stream.of(found);
    }

    @Procedure(name = "gpugda.changes", mode = Mode.READ)
    @Description("The changes since a transaction, recorded by an instance; waits for committing transactions.")
    public Stream<ChangesRow> changes(
            @Name("instance") String instance,
            @Name("since") long since,
            @Name("until") long until,
            @Name("waitMillis") long waitMillis)
            throws InterruptedException {
        Recorder recorder = Recorders.of(database.databaseName());
        String refusal = refusal(recorder);
        if (!refusal.isEmpty()) return Stream.of(ChangesRow.refused(refusal));
        if (!recorder.instance.equals(instance)) return Stream.of(ChangesRow.gap("the database was restarted"));
        long closed = Math.max(until, Internals.closedTransaction(database));
        Recorder.Found found = recorder.changes(since, closed, Math.min(waitMillis, MOST_WAIT_MILLIS));
        if (!found.following()) return Stream.of(ChangesRow.gap("no client asked for changes for a long time"));
        if (since < found.start())
            return Stream.of(ChangesRow.gap("more was changed than is kept since transaction " + found.start()));
        return Stream.of(ChangesRow.of(found, since, Rights.readsEverything(database)));
    }

    private String refusal(Recorder recorder) {
        if (recorder == null) return "the plugin was not loaded when the database started: restart the server";
        if (!Rights.seesEverything(database, transaction)) return "the user may not see all nodes and relationships";
        if (!Internals.isAlone(database)) return "other members commit to this database, too, unseen by the plugin";
        return "";
    }

    private static String version() {
        try (InputStream file = ChangeProcedures.class.getResourceAsStream("/gpugda-plugin.properties")) {
            Properties found = new Properties();
            found.load(file);
            return found.getProperty("version");
        } catch (IOException error) {
            return "";
        }
    }
}
