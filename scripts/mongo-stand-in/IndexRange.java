import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.bson.Document;
import java.util.ArrayList;
import java.util.List;

/**
 * A range of an index that contains all documents that match a query: those with equal values of the first fields and, if the query compares
 * the next field, values between its operands.
 */
record IndexRange(Index<Object> index, int fields, OrderedIndex.Entry from, OrderedIndex.Entry to) {
    /** Returns null if the query has no condition on the first field. */
    static IndexRange of(Index<Object> index, Document query) {
        List<Object> equal = new ArrayList<>();
        for (IndexKey key : index.getKeys()) {
            Object condition = query.get(key.getKey());
            if (isScalar(condition)) {
                equal.add(condition);
                continue;
            }
            Object above = getOperand(condition, "$gt", "$gte");
            Object below = getOperand(condition, "$lt", "$lte");
            if (above == null && below == null) {
                break;
            }
            // Documents without the field are first in the order and match no comparison.
            OrderedIndex.Entry from = above == null ? bound(equal, null, 1) : bound(equal, above, -1);
            OrderedIndex.Entry to = below == null ? bound(equal, 1) : bound(equal, below, 1);
            return new IndexRange(index, equal.size() + 1, from, to);
        }
        return equal.isEmpty() ? null : new IndexRange(index, equal.size(), bound(equal, -1), bound(equal, 1));
    }

    private static Object getOperand(Object condition, String... operators) {
        if (condition instanceof Document comparison) {
            for (String operator : operators) {
                if (isScalar(comparison.get(operator))) {
                    return comparison.get(operator);
                }
            }
        }
        return null;
    }

    private static boolean isScalar(Object value) {
        return value instanceof String || value instanceof Number || value instanceof Boolean;
    }

    private static OrderedIndex.Entry bound(List<Object> equal, Object last, int side) {
        List<Object> values = new ArrayList<>(equal);
        values.add(last);
        return bound(values, side);
    }

    private static OrderedIndex.Entry bound(List<Object> values, int side) {
        return new OrderedIndex.Entry(values.toArray(), null, side);
    }
}
