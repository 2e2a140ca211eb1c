import type { AuditRecord } from '@switchyard/contracts';
import { useQuery } from '@tanstack/react-query';
import { CopyRoute } from '../../parts/CopyRoute.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { Loaded } from '../../parts/Loaded.tsx';
import { useInvalidation } from '../../parts/use-call.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { read } from '../../session/client.ts';

interface AuditPage {
  records: AuditRecord[];
  head: { seq: number };
}

const PAGE_SIZE = 200;

/** The audit log, newest records first. */
export function Audit() {
  const [before, setBefore] = useSearchText('before');
  useInvalidation(['audit'], ['audit:event']);
  const page = useQuery({
    queryKey: ['audit', before],
    refetchOnMount: 'always',
    queryFn: async ({ signal }) => {
      const end = before === '' ? (await read<AuditPage>('/api/audit?limit=1', signal)).head.seq : Number(before);
      const after = Math.max(0, end - PAGE_SIZE);
      const path = `/api/audit?after=${after}&limit=${Math.max(1, end - after)}`;
      const { records } = await read<AuditPage>(path, signal);
      return { records: records.toReversed(), after, path };
    },
  });
  return (
    <Loaded query={page}>
      {({ records, after, path }) => (
        <>
          <DataTable label="audit" columns={Object.keys(records[0] ?? {})} rows={records} />
          <p className="tools">
            <button type="button" disabled={before === ''} onClick={() => setBefore('')}>
              Newest
            </button>
            <button type="button" disabled={after === 0} onClick={() => setBefore(String(after))}>
              Older
            </button>
          </p>
          <CopyRoute
            path={path}
            typeScript={`await (await fetch(${JSON.stringify(location.origin + path)}, { headers: { authorization: \`Bearer \${token}\` } })).json();`}
            {...(before === '' ? { command: `switchyard audit list --limit ${PAGE_SIZE}` } : {})}
          />
        </>
      )}
    </Loaded>
  );
}
