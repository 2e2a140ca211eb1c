import type { Handler } from '@switchyard/bus';
import type { Principal } from '@switchyard/contracts';
import type { Documents, Filter } from '@switchyard/store';
import type { RecordDocument } from '../documents/collections.ts';
import { boundReport } from '../explain/bound-report.ts';
import { explainSession } from '../explain/explain-session.ts';
import type { SearchDeps } from '../trace/search-records.ts';

/** Turns of a session that are read, the newest first. */
const MAX_TURNS = 1_000;
/** Most list entries of a full report, which one message carries. */
const MAX_FULL_ENTRIES = 5_000;

/** Explains a session. A trace id is resolved to its session first, so that both give the same report. */
export function obsExplain(deps: SearchDeps): Handler<'obs.explain'> {
  return async ({ sessionKey, traceId, depth, includeSynthetic }, { principal }) => {
    const { records, session, unreadTurns } = await readSessionRecords(deps, principal, { sessionKey, traceId, includeSynthetic });
    const options = { sessionKey: session ?? null, traceId: traceId ?? null, unreadTurns };
    const report = explainSession(records, options);
    if (depth === 'summary') return boundReport(report);
    return { ...report, failures: report.failures.slice(0, MAX_FULL_ENTRIES), offloads: report.offloads.slice(0, MAX_FULL_ENTRIES) };
  };
}

/** Reads the newest turns of a session. A trace id is resolved to its session. */
export async function readSessionRecords(
  deps: SearchDeps,
  principal: Principal,
  {
    sessionKey,
    traceId,
    includeSynthetic = true,
  }: { sessionKey: string | undefined; traceId: string | undefined; includeSynthetic?: boolean },
): Promise<{ records: RecordDocument[]; session: string | undefined; unreadTurns: number }> {
  const { filter, session } = await resolve(deps, principal, { sessionKey, traceId });
  const visible = includeSynthetic ? filter : { ...filter, synthetic: null };
  return { session, ...(await readNewest(deps.records.for(principal), visible)) };
}

async function resolve(
  { records }: SearchDeps,
  caller: Principal,
  { sessionKey, traceId }: { sessionKey: string | undefined; traceId: string | undefined },
): Promise<{ filter: Filter<RecordDocument>; session: string | undefined }> {
  if (sessionKey !== undefined) return { filter: { sessionKey }, session: sessionKey };
  const { items } = await records.for(caller).find({ traceId: traceId ?? '' }, { sort: [['at', 'asc']], limit: 1 });
  const session = items[0]?.sessionKey;
  return session === undefined ? { filter: { traceId: traceId ?? '' }, session } : { filter: { sessionKey: session }, session };
}

async function readNewest(
  documents: Documents<RecordDocument>,
  filter: Filter<RecordDocument>,
): Promise<{ records: RecordDocument[]; unreadTurns: number }> {
  const records: RecordDocument[] = [];
  let cursor: string | undefined;
  do {
    const page = await documents.find(filter, { sort: [['at', 'desc']], limit: 200, ...(cursor === undefined ? {} : { cursor }) });
    records.push(...page.items);
    ({ cursor } = page);
  } while (cursor !== undefined && records.length < MAX_TURNS);
  const unreadTurns = cursor === undefined ? 0 : Math.max(0, (await documents.count(filter)) - records.length);
  return { records: records.toSorted(compare), unreadTurns };
}

/** Rows of one millisecond are in the order of the log. */
function compare(a: RecordDocument, b: RecordDocument): number {
  return a.at - b.at || a.seq - b.seq || (a.recordId < b.recordId ? -1 : 1);
}
