import { inserted, type Collection, type Document, type Documents, type Store } from '@switchyard/store';
import type { KeyedTurnDocument } from '../model/keyed-turn-document.ts';
import type { ResponseSegmentDocument } from '../model/response-segment-document.ts';
import type { SessionDocument } from '../model/session-document.ts';
import type { StorageUsageDocument } from '../model/storage-usage-document.ts';
import { countResponseBytes, countSegmentBytes, countSessionBytes } from './stored-bytes.ts';
import { clientId, TENANT_ID } from './usage-counters.ts';

const PAGE_SIZE = 200;
const RECOUNT_INTERVAL_MS = 21_600_000;
/** Recount interval of a tenant with a refused client, because expired responses are not subtracted before. */
const FULL_RECOUNT_INTERVAL_MS = 60_000;

export interface CountedCollections {
  sessions: Collection<SessionDocument>;
  kept: Collection<KeyedTurnDocument>;
  segments: Collection<ResponseSegmentDocument>;
}

export interface StoredTotals {
  tenant: number;
  clients: Map<string, number>;
}

interface RecountDeps extends CountedCollections {
  usage: Collection<StorageUsageDocument>;
  store: Pick<Store, 'now'>;
}

type Counts = ReadonlyMap<string, { bytes: number; changed: number }>;

/** A recount that has read the documents. */
export interface RunningRecount {
  /** The counters of the tenant before the documents were read. */
  before: Counts;
  totals: StoredTotals;
}

export function isRecountDue(
  { store }: Pick<RecountDeps, 'store'>,
  { recountedAt, refused }: { recountedAt: number | undefined; refused: boolean },
): boolean {
  return recountedAt === undefined || recountedAt <= store.now() - (refused ? FULL_RECOUNT_INTERVAL_MS : RECOUNT_INTERVAL_MS);
}

/** Reads the documents of a tenant. One replica recounts at a time; the others get undefined. */
export async function startRecount(
  deps: RecountDeps,
  tenant: string,
  recountedAt: number | undefined,
): Promise<RunningRecount | undefined> {
  const usage = deps.usage.for({ tenant });
  const claimed = await usage.update({ id: TENANT_ID, recountedAt: recountedAt ?? null }, { set: { recountedAt: deps.store.now() } });
  if (!claimed) return undefined;
  const before = await readCounts(usage);
  return { before, totals: await countStored(deps, tenant) };
}

/**
 * Corrects the counters of a tenant after all replicas have written what they changed during the recount. The documents contain an unknown
 * part of these changes, so the error of a counter is known up to them. The smallest possible error is corrected, so that no write is
 * counted twice. A recount without concurrent writes is exact.
 */
export async function finishRecount(usage: Documents<StorageUsageDocument>, { before, totals }: RunningRecount): Promise<void> {
  const counted = new Map([
    [TENANT_ID, totals.tenant],
    ...[...totals.clients].map(([client, bytes]) => [clientId(client), bytes] as const),
  ]);
  const after = await readCounts(usage);
  for (const id of new Set([...after.keys(), ...counted.keys()])) {
    const [first, last] = [before.get(id) ?? NO_BYTES, after.get(id) ?? NO_BYTES];
    const bytes = getSmallestError(counted.get(id) ?? 0, first, last);
    if (bytes === 0 || (await usage.update({ id }, { inc: { bytes } }))) continue;
    await inserted(() => usage.insert({ id, bytes }));
  }
}

const NO_BYTES = { bytes: 0, changed: 0 };

/** The error of a counter is `counted - first.bytes`, less what was added and counted, plus what was removed and no longer counted. */
function getSmallestError(counted: number, first: typeof NO_BYTES, last: typeof NO_BYTES): number {
  const net = last.bytes - first.bytes;
  const gross = Math.max(last.changed - first.changed, Math.abs(net));
  const [added, removed] = [(gross + net) / 2, (gross - net) / 2];
  const difference = counted - first.bytes;
  return Math.max(0, difference - added) + Math.min(0, difference + removed);
}

async function readCounts(usage: Documents<StorageUsageDocument>): Promise<Counts> {
  const counts = new Map<string, { bytes: number; changed: number }>();
  let cursor: string | undefined;
  do {
    const page = await usage.find({}, cursor === undefined ? {} : { cursor });
    for (const { id, bytes, changed = 0 } of page.items) counts.set(id, { bytes, changed });
    cursor = page.cursor;
  } while (cursor !== undefined);
  return counts;
}

/** Counts what a tenant has stored, page by page. */
export async function countStored({ sessions, kept, segments }: CountedCollections, tenant: string): Promise<StoredTotals> {
  const totals: StoredTotals = { tenant: 0, clients: new Map() };
  const add = (client: string | undefined, bytes: number): void => {
    totals.tenant += bytes;
    if (client !== undefined) totals.clients.set(client, (totals.clients.get(client) ?? 0) + bytes);
  };
  await forEachDocument(sessions, tenant, (session) => add(session.createdBy, countSessionBytes(session)));
  await forEachDocument(kept, tenant, (turn) => add(turn.client, countResponseBytes(turn)));
  await forEachDocument(segments, tenant, (segment) => add(segment.client, countSegmentBytes(segment)));
  return totals;
}

async function forEachDocument<D extends Document>(collection: Collection<D>, tenant: string, visit: (document: D) => void): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await collection.for({ tenant }).find({}, { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) });
    for (const document of page.items) visit(document);
    cursor = page.cursor;
  } while (cursor !== undefined);
}
