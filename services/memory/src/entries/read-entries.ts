import type { Principal } from '@switchyard/contracts';
import type { Collection, Documents } from '@switchyard/store';
import type { EntryDocument } from '../documents/collections.ts';
import { isVisible } from './memory-scope.ts';

/** Loads search hits from the documents and checks visibility there, because the index may lag behind. */
export async function readVisible(
  entries: Collection<EntryDocument>,
  principal: Principal,
  { ids, now }: { ids: readonly string[]; now: number },
): Promise<EntryDocument[]> {
  if (ids.length === 0) return [];
  const { items } = await entries.for(principal).find({ id: { in: ids } }, { limit: ids.length });
  const byId = new Map(items.map((entry) => [entry.id, entry]));
  return ids.flatMap((id) => byId.get(id) ?? []).filter((entry) => isVisible(entry, principal, now));
}

const PAGE = 200;

/** Iterates over all entries of a tenant, page by page, in no particular order. */
export async function* iterateEntries(documents: Documents<EntryDocument>): AsyncGenerator<EntryDocument[], void> {
  for (let cursor: string | undefined, more = true; more;) {
    const page = await documents.find({ deletedAt: null }, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    yield page.items;
    cursor = page.cursor;
    more = cursor !== undefined;
  }
}
