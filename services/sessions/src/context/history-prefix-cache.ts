import type { Collection, Documents } from '@switchyard/store';
import type { Root, SessionDocument } from '../model/session-document.ts';
import type { SummaryDocument } from '../model/summary-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { createTextCache, type TextCacheOptions, getExchange, type Exchange } from './exchange-cache.ts';
import { getSummaries } from './compaction/summary-builder.ts';
import { MAX_ANCHORS } from './compaction/history-limits.ts';

/** Overhead of a document in characters. */
const NAMES_CHARS = 300;

/**
 * Caches the history before the recent exchanges: the first turns of a conversation and its summaries. This part never changes, because
 * a new summary has a new id. Entries can be evicted at any time and are never stale.
 */
export interface Beginnings {
  /** Returns the summaries in the order of the roots, without deleted ones. */
  summaries(summaries: Collection<SummaryDocument>, tenant: string, roots: readonly Root[]): Promise<SummaryDocument[]>;
  /** Returns the turns before the first summary. */
  anchors(turns: Documents<TurnDocument>, location: { tenant: string; session: SessionDocument }): Promise<readonly Exchange[]>;
}

export function createBeginnings(options: TextCacheOptions): Beginnings {
  const known = createTextCache<SummaryDocument>(options);
  const first = createTextCache<readonly Exchange[]>(options);

  return {
    async summaries(summaries, tenant, roots) {
      const missing = roots.filter(({ id }) => known.get(`${tenant} ${id}`) === undefined);
      const read = new Map((await getSummaries({ summaries }, tenant, missing)).map((one) => [one.id, one]));
      const all = roots.flatMap(({ id }) => known.get(`${tenant} ${id}`) ?? read.get(id) ?? []);
      for (const one of read.values()) {
        known.set(`${tenant} ${one.id}`, one, { size: NAMES_CHARS + one.text.length, ttl: options.ttlMs() });
      }
      return all;
    },

    async anchors(turns, { tenant, session: { epoch, roots: [root] = [] } }) {
      if (root === undefined) return [];
      const name = `${tenant} ${epoch} ${root.from}`;
      const there = first.get(name);
      if (there) return there;
      const { items } = await turns.find({ epoch, seq: { lt: root.from } }, { sort: [['seq', 'asc']], limit: MAX_ANCHORS });
      const exchanges = items.map(getExchange);
      const held = exchanges.reduce((sum, one) => sum + one.held, NAMES_CHARS);
      first.set(name, exchanges, { size: held, ttl: options.ttlMs() });
      return exchanges;
    },
  };
}
