import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** Neo4j Community with Bolt on, until it is told to stop: {@code Neo4jServer HOME}. */
public class Neo4jServer {
    public static void main(String[] args) {
        Path home = Path.of(args[0]).toAbsolutePath();
        try {
            Map<String, String> settings = settings(System.getenv());
            DatabaseManagementService server = start(home, settings);
            Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
            setPassword(server, System.getenv().getOrDefault("NEO4J_AUTH", "none"));
            stopWith(System.getenv("NEO4J_STOP_WITH_PID"));
            System.out.println("Remote interface available at bolt://" + settings.get("server.bolt.listen_address"));
            Thread.currentThread().join();
        } catch (Throwable error) {
            System.err.println("neo4j-local: Neo4j in " + home + " did not start: " + reason(error));
            System.err.println("neo4j-local: more in " + home.resolve("logs"));
            System.exit(1);
        }
    }

    /** NEO4J_server_bolt_listen__address=X gives server.bolt.listen_address=X, as in the official image. */
    private static Map<String, String> settings(Map<String, String> environment) {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("server.bolt.enabled", "true");
        settings.put("server.bolt.listen_address", "127.0.0.1:7687");
        settings.put("server.memory.pagecache.size", "512m");
        settings.put("dbms.usage_report.enabled", "false");
        // Else it listens for twice five seconds more before it stops: longer than `docker stop` waits.
        settings.put("internal.dbms.bolt.netty_server_shutdown_quiet_period", "0");
        boolean open = environment.getOrDefault("NEO4J_AUTH", "none").equals("none");
        settings.put("dbms.security.auth_enabled", open ? "false" : "true");
        environment.forEach((key, value) -> {
            if (key.startsWith("NEO4J_") && key.length() > 6 && Character.isLowerCase(key.charAt(6)))
                settings.put(key.substring(6).replace("__", "\0").replace('_', '.').replace('\0', '_'), value);
        });
        return settings;
    }

    private static DatabaseManagementService start(Path home, Map<String, String> settings) throws Exception {
        Path file = Files.createDirectories(home.resolve("conf")).resolve("neo4j.conf");
        List<String> lines = new ArrayList<>();
        settings.forEach((key, value) -> lines.add(key + "=" + value));
        Files.write(file, lines);
        return new DatabaseManagementServiceBuilder(home).loadPropertiesFromFile(file).build();
    }

    private static void setPassword(DatabaseManagementService server, String auth) {
        if (auth.equals("none")) return;
        String password = auth.substring(auth.indexOf('/') + 1);
        try {
            server.database("system").executeTransactionally(
                "ALTER USER neo4j SET PASSWORD $password CHANGE NOT REQUIRED", Map.of("password", password));
        } catch (RuntimeException error) {
            if (!reason(error).contains("cannot be the same")) throw error; // it was set by an earlier start
        }
    }

    /** A server that was started for another process does not outlive it, however that one ends. */
    private static void stopWith(String pid) {
        if (pid == null || pid.isEmpty()) return;
        ProcessHandle.of(Long.parseLong(pid)).ifPresentOrElse(
            process -> process.onExit().thenRun(() -> System.exit(0)), () -> System.exit(0));
    }

    private static String reason(Throwable error) {
        while (error.getCause() != null && error.getCause() != error) error = error.getCause();
        return error.getClass().getSimpleName() + ": " + error.getMessage();
    }
}
