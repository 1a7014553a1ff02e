package org.gpugda.neo4j;

import org.neo4j.configuration.Config;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.kernel.extension.ExtensionFactory;
import org.neo4j.kernel.extension.ExtensionType;
import org.neo4j.kernel.extension.context.ExtensionContext;
import org.neo4j.kernel.internal.GraphDatabaseAPI;
import org.neo4j.kernel.lifecycle.Lifecycle;
import org.neo4j.kernel.lifecycle.LifecycleAdapter;

/** Attaches a recorder to each database at its start, before anything can be written to it. */
public final class RecorderExtension extends ExtensionFactory<RecorderExtension.Dependencies> {
    /** Dependencies that Neo4j injects. */
    public interface Dependencies {
        GraphDatabaseAPI database();

        DatabaseManagementService server();

        Config config();
    }

    public RecorderExtension() {
        super(ExtensionType.DATABASE, "gpugda");
    }

    @Override
    public Lifecycle newInstance(ExtensionContext context, Dependencies dependencies) {
        return new Beside(dependencies);
    }

    private static final class Beside extends LifecycleAdapter {
        private final Dependencies dependencies;
        private Recorder recorder;

        Beside(Dependencies dependencies) {
            this.dependencies = dependencies;
        }

        @Override
        public void start() {
            String name = dependencies.database().databaseName();
            if (name.equals("system")) return;
            recorder = new Recorder(
                    dependencies.config().get(PluginSettings.CHANGES_BYTES),
                    dependencies.config().get(PluginSettings.CHANGES_IDLE).toNanos());
            dependencies.server().registerTransactionEventListener(name, recorder);
            Recorders.put(name, recorder);
        }

        @Override
        public void stop() {
            if (recorder == null) return;
            String name = dependencies.database().databaseName();
            Recorders.remove(name, recorder);
            dependencies.server().unregisterTransactionEventListener(name, recorder);
            recorder = null;
        }
    }
}
