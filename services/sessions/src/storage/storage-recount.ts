import type { Collection, Document } from '@switchyard/store';
import type { KeyedTurnDocument } from '../model/keyed-turn-document.ts';
import type { ResponseSegmentDocument } from '../model/response-segment-document.ts';
import type { SessionDocument } from '../model/session-document.ts';
import { countResponseBytes, countSegmentBytes, countSessionBytes } from './stored-bytes.ts';

const PAGE_SIZE = 200;

export interface CountedCollections {
  sessions: Collection<SessionDocument>;
  kept: Collection<KeyedTurnDocument>;
  segments: Collection<ResponseSegmentDocument>;
}

export interface StoredTotals {
  tenant: number;
  clients: Map<string, number>;
}

/** Counts what a tenant has stored, page by page. */
export async function countStored({ sessions, kept, segments }: CountedCollections, tenant: string): Promise<StoredTotals> {
  const totals: StoredTotals = { tenant: 0, clients: new Map() };
  const add = (client: string | undefined, bytes: number): void => {
    totals.tenant += bytes;
    if (client !== undefined) totals.clients.set(client, (totals.clients.get(client) ?? 0) + bytes);
  };
  await forEachDocument(sessions, tenant, (session) => add(session.createdBy, countSessionBytes(session)));
  await forEachDocument(kept, tenant, (turn) => {
    if (turn.request !== undefined) add(turn.client, countResponseBytes(turn));
  });
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
