import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.Missing;
import de.bwaldvogel.mongo.backend.Utils;
import de.bwaldvogel.mongo.backend.ValueComparator;
import de.bwaldvogel.mongo.bson.Document;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** The ids of the documents of a collection in the order of the fields of an index. It is in memory only. */
final class OrderedIndex {
    /** An entry, or a bound: a bound has fewer values, and is before or after all entries that begin with them. */
    record Entry(Object[] values, Object id, int side) implements Comparable<Entry> {
        @Override
        public int compareTo(Entry other) {
            for (int n = 0; n < Math.min(values.length, other.values.length); n += 1) {
                int difference = ValueComparator.asc().compare(values[n], other.values[n]);
                if (difference != 0) {
                    return difference;
                }
            }
            boolean isBound = side != 0 || other.side != 0;
            return isBound ? Integer.compare(side, other.side) : ValueComparator.asc().compare(id, other.id);
        }
    }

    private final List<String> paths;
    private final TreeSet<Entry> entries = new TreeSet<>();
    private final Map<Object, Entry> byId = new HashMap<>();
    /** A list has an entry for each of its values in MongoDB. This index has none, so that it is not used. */
    private boolean hasLists;

    OrderedIndex(Index<Object> index) {
        paths = index.getKeys().stream().map(IndexKey::getKey).toList();
    }

    /** Documents are changed in place, so that the former values are read from the former entry. */
    void put(Object id, Document document) {
        remove(id);
        Object[] values = paths.stream().map(path -> read(document, path)).toArray();
        Entry entry = new Entry(values, id, 0);
        entries.add(entry);
        byId.put(id, entry);
    }

    void remove(Object id) {
        Entry entry = byId.remove(id);
        if (entry != null) {
            entries.remove(entry);
        }
    }

    /** Returns null if the index cannot be used. The ids are a copy, because the caller may change documents meanwhile. */
    Iterable<Object> find(IndexRange range) {
        if (hasLists) {
            return null;
        }
        boolean isEmpty = range.from().compareTo(range.to()) > 0;
        return isEmpty ? List.of() : entries.subSet(range.from(), range.to()).stream().map(Entry::id).toList();
    }

    private Object read(Document document, String path) {
        Object value = Utils.getSubdocumentValueCollectionAware(document, path);
        hasLists |= value instanceof Collection;
        return value instanceof Missing ? null : value;
    }
}
