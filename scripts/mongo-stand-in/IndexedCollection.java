import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.QueryResult;
import de.bwaldvogel.mongo.backend.h2.H2Collection;
import de.bwaldvogel.mongo.bson.Document;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.h2.mvstore.MVMap;

/**
 * A collection that finds documents by id and by its indexes, as MongoDB does. The base class uses only unique indexes, and only for a query
 * on exactly their fields. Every other query reads the whole collection: a second for 20,000 documents, while all other commands wait.
 */
final class IndexedCollection extends H2Collection {
    private final MVMap<Object, Document> documents;
    /** By the name of the index. Each is built when the first query uses it. */
    private final Map<String, OrderedIndex> indexes = new HashMap<>();

    IndexedCollection(
        MongoDatabase database,
        String name,
        CollectionOptions options,
        MVMap<Object, Document> documents,
        MVMap<String, Object> metadata,
        CursorRegistry cursors
    ) {
        super(database, name, options, documents, metadata, cursors);
        this.documents = documents;
    }

    @Override
    protected Object addDocumentInternal(Document document) {
        Object id = super.addDocumentInternal(document);
        indexes.values().forEach(index -> index.put(id, document));
        return id;
    }

    @Override
    protected void removeDocument(Object id) {
        super.removeDocument(id);
        indexes.values().forEach(index -> index.remove(id));
    }

    @Override
    protected void handleUpdate(Object id, Document before, Document after) {
        super.handleUpdate(id, before, after);
        indexes.values().forEach(index -> index.put(id, after));
    }

    @Override
    protected QueryResult matchDocuments(Document query, Document order, int skip, int limit, int batchSize, Document fields) {
        Iterable<Object> ids = order != null && order.containsKey("$natural") ? null : findCandidates(query);
        if (ids == null) {
            return super.matchDocuments(query, order, skip, limit, batchSize, fields);
        }
        var candidates = StreamSupport.stream(ids.spliterator(), false).map(this::getDocument);
        return matchDocumentsFromStream(candidates, query, order, skip, limit, batchSize, fields);
    }

    /** Returns the ids of all documents that may match, or null if no index serves the query. */
    private Iterable<Object> findCandidates(Document query) {
        if (query.containsKey("_id")) {
            Document ids = new Document("_id", query.get("_id"));
            for (Index<Object> index : getIndexes()) {
                if (index.canHandle(ids)) {
                    return index.getPositions(ids);
                }
            }
        }
        IndexRange best = null;
        for (Index<Object> index : getIndexes()) {
            IndexRange range = IndexRange.of(index, query);
            if (range != null && (best == null || range.fields() > best.fields())) {
                best = range;
            }
        }
        return best == null ? null : indexes.computeIfAbsent(best.index().getName(), this::build).find(best);
    }

    private OrderedIndex build(String name) {
        Index<Object> index = getIndexes().stream().filter(one -> one.getName().equals(name)).findFirst().orElseThrow();
        OrderedIndex built = new OrderedIndex(index);
        documents.forEach(built::put);
        return built;
    }
}
