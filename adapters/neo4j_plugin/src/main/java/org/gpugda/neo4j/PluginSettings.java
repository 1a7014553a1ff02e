package org.gpugda.neo4j;

import static org.neo4j.configuration.SettingImpl.newBuilder;
import static org.neo4j.configuration.SettingValueParsers.BYTES;
import static org.neo4j.configuration.SettingValueParsers.DURATION;

import java.time.Duration;
import org.neo4j.configuration.Description;
import org.neo4j.configuration.SettingsDeclaration;
import org.neo4j.graphdb.config.Setting;

/** Settings in neo4j.conf; with names outside the registered namespaces the server would not start. */
public final class PluginSettings implements SettingsDeclaration {
    @Description("Heap memory for the changes that are kept, of each database that is followed.")
    public static final Setting<Long> CHANGES_BYTES =
            newBuilder("server.gpugda.changes.max_size", BYTES, 64L << 20).build();

    @Description("Changes are no longer kept when nobody asked for them for so long.")
    public static final Setting<Duration> CHANGES_IDLE =
            newBuilder("server.gpugda.changes.idle_time", DURATION, Duration.ofMinutes(30)).build();
}
