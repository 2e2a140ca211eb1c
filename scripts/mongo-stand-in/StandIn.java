import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import de.bwaldvogel.mongo.backend.h2.H2Database;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.exception.MongoServerError;
import io.netty.channel.Channel;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;

/**
 * Stands in for MongoDB where none can be had: `java StandIn FILE PORT`. Changes of one document are atomic. It has no users, no
 * $jsonSchema, no sessions and no write concern: what it has said it kept is on the disk some 50 ms later. Whoever says who he is is
 * refused, as by any server that does not know him. Ends when its standard input does, so that it never outlives whoever started it.
 */
public final class StandIn {
    private static final int COMMIT_MS = 50;

    /** MongoDB 6.0, the oldest that is still in wide use. */
    private static final MongoVersion VERSION = new MongoVersion() {
        @Override
        public List<Integer> getVersionArray() {
            return List.of(6, 0, 0);
        }

        @Override
        public int getWireVersion() {
            return 17;
        }
    };

    /** One command at a time, and nothing is written to the disk meanwhile: documents are changed in place. */
    private static final class Backend extends H2Backend {
        private final MVStore store;

        Backend(MVStore store) {
            super(store);
            this.store = store;
        }

        synchronized void save() {
            if (!store.isClosed() && store.hasUnsavedChanges()) {
                store.commit();
            }
        }

        /** The answer is a copy: otherwise a later change of a document would show in an answer under way. */
        @Override
        public synchronized Document handleCommand(Channel channel, String database, String command, Document query) {
            if (command.equalsIgnoreCase("saslStart")) {
                throw new MongoServerError(18, "AuthenticationFailed", "Authentication failed.");
            }
            return super.handleCommand(channel, database, command, query).cloneDeeply();
        }

        @Override
        protected MongoDatabase openOrCreateDatabase(String name) {
            return new Database(name, getCursorRegistry());
        }

        /** A database whose collections use their indexes. The names of its maps are those of the base class. */
        private final class Database extends H2Database {
            Database(String name, CursorRegistry cursors) {
                super(name, getMvStore(), cursors);
            }

            /** Called by the constructor of the base class. */
            @Override
            protected MongoCollection<Object> openOrCreateCollection(String name, CollectionOptions options) {
                String namespace = getFullCollectionNamespace(name);
                MVMap<Object, Document> documents = getMvStore().openMap("databases." + namespace);
                MVMap<String, Object> metadata = getMvStore().openMap("meta." + namespace);
                return new IndexedCollection(this, name, options, documents, metadata, cursorRegistry);
            }
        }
    }

    private StandIn() {}

    public static void main(String[] arguments) throws IOException {
        Backend backend = new Backend(new MVStore.Builder().fileName(arguments[0]).autoCommitDisabled().open());
        MongoServer server = new MongoServer(backend.version(VERSION));
        Executors.newSingleThreadScheduledExecutor(StandIn::background)
            .scheduleWithFixedDelay(backend::save, COMMIT_MS, COMMIT_MS, TimeUnit.MILLISECONDS);
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow));
        try {
            server.bind("127.0.0.1", Integer.parseInt(arguments[1]));
        } catch (Exception failure) {
            System.err.println(failure);
            Runtime.getRuntime().halt(1);
        }
        System.out.println("listening on " + server.getLocalAddress().getPort());
        while (System.in.read() != -1) {
            // What is written there means nothing.
        }
        System.exit(0);
    }

    private static Thread background(Runnable work) {
        Thread thread = new Thread(work, "save");
        thread.setDaemon(true);
        return thread;
    }
}
