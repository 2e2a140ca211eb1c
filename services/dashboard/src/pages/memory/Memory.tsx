import { useQuery } from '@tanstack/react-query';
import { Confirm } from '../../parts/Confirm.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { useSearchText } from '../../parts/use-search.ts';
import { call } from '../../session/client.ts';

const PAGE_SIZE = 50;

/** The memories of the agents: newest first, or the best matches of a search. */
export function Memory() {
  const [text, setText] = useSearchText('query');
  const [page, setPage] = useSearchText('page');
  const offset = (Number(page) || 0) * PAGE_SIZE;
  const memories = useQuery({
    queryKey: ['memory.browse', text, offset],
    // No event tells that a memory was stored or deleted.
    refetchOnMount: 'always',
    queryFn: async ({ signal }) => {
      if (text === '') return call('memory.browse', { limit: PAGE_SIZE, offset }, signal);
      const { results } = await call('memory.search', { query: text, limit: PAGE_SIZE }, signal);
      return { entries: results, total: results.length, hasMore: false };
    },
  });
  return (
    <>
      <label>
        Search <input type="search" value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <Loaded query={memories}>
        {({ entries, total, hasMore }) => (
          <>
            <p>{total} entries</p>
            <DataTable
              label="memories"
              columns={['content', 'memoryType', 'trustLevel', 'created']}
              rows={entries.map((entry) => ({ ...entry, created: formatTime(entry.createdAt) }))}
              actions={({ id }) => (
                <Confirm
                  label="Delete"
                  name={String(id)}
                  needs="memory.delete"
                  run={async () => {
                    await call('memory.delete', { id: String(id) });
                    await memories.refetch();
                  }}
                >
                  <p>One memory is removed.</p>
                </Confirm>
              )}
            />
            <p className="tools">
              <button type="button" disabled={offset === 0} onClick={() => setPage(String(offset / PAGE_SIZE - 1))}>
                Newer
              </button>
              <button type="button" disabled={!hasMore} onClick={() => setPage(String(offset / PAGE_SIZE + 1))}>
                Older
              </button>
            </p>
          </>
        )}
      </Loaded>
      {text === '' ? (
        <CopyAs method="memory.browse" params={{ limit: PAGE_SIZE, offset }} />
      ) : (
        <CopyAs method="memory.search" params={{ query: text, limit: PAGE_SIZE }} />
      )}
    </>
  );
}
