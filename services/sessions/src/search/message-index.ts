import type { SearchEntry, SearchIndex, Store } from '@switchyard/store';
import { messageTimes, type HistoryDeps } from '../sessions/session-directory.ts';
import type { SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { loadTexts } from '../model/stored-text.ts';
import { listMessages } from '../model/turn-messages.ts';
import { getName, readName, type Place } from './message-location.ts';

/** Full-text index of the messages of one tenant. */
export interface SaidIndex {
  /**
   * Indexes the turns that sessions have counted since the last call. A turn that was counted before the call is searchable after it.
   */
  follow(): Promise<void>;
  search(request: { text: string; owners: readonly string[] | undefined; limit: number }): Promise<{ place: Place; score: number }[]>;
  /** Removes the entries of deleted messages. */
  forget(places: readonly Place[]): Promise<void>;
  /**
   * Removes the entries of deleted sessions. The first sweep also compares an index from an earlier process with the documents and
   * indexes missing messages again. Returns the number of repaired sessions.
   */
  sweep(): Promise<number>;
}

export interface SaidIndexDeps extends Pick<HistoryDeps, 'sessions' | 'turns' | 'bodies'> {
  store: Pick<Store, 'now'>;
  tenant: string;
  index: SearchIndex;
  /** Checked between pages. False stops the work until the next call. */
  goesOn: () => boolean;
}

/** Tolerance between the timestamp in a session and the time of its write. */
const OVERLAP_MS = 60_000;
const PAGE = 100;
const LIST_PAGE = 2_000;
/** One group covers all messages of the tenant. */
const GROUP = '';
/** Document versions. Messages are immutable: an entry is either present or deleted. */
const [THERE, GONE] = [1, 2];

interface IndexedSession {
  epoch: string;
  seq: number;
  /** Number of indexed messages of the session. */
  rows: number;
}

/**
 * The index follows sessions by their modification time and turns by their sequence number. Turns are indexed on the next search, so
 * indexing adds no cost to a turn. A hit in a deleted session is never shown, because results are read from the documents.
 */
export function createSaidIndex(deps: SaidIndexDeps): SaidIndex {
  const { index, tenant, store, goesOn } = deps;
  const sessions = deps.sessions.for({ tenant });
  const known = new Map<string, IndexedSession>();
  let opened = false;
  /** Position of the index left by an earlier process, until that index has been compared with the documents. */
  let unproven: number | undefined;

  /** Loads the state of the index left by an earlier process. */
  async function learn(): Promise<void> {
    for (let offset = 0; ; offset += LIST_PAGE) {
      const { ids } = await index.list({ tenant, group: GROUP, now: store.now(), oldestFirst: true, offset, limit: LIST_PAGE });
      for (const { sessionKey, epoch, seq } of ids.map(readName)) {
        const one = known.get(sessionKey);
        if (one?.epoch === epoch) known.set(sessionKey, { epoch, seq: Math.max(one.seq, seq), rows: one.rows + 1 });
        else if (one === undefined || one.seq < seq) known.set(sessionKey, { epoch, seq, rows: 1 });
      }
      if (ids.length < LIST_PAGE) return;
    }
  }

  async function forgetEpoch(epoch: string): Promise<void> {
    for (;;) {
      const kinds = [epoch];
      const { ids } = await index.list({ tenant, group: GROUP, kinds, now: store.now(), oldestFirst: true, offset: 0, limit: LIST_PAGE });
      await index.apply(ids.map(gone), null);
      if (ids.length < LIST_PAGE) return;
    }
  }

  function gone(id: string) {
    return { tenant, id, version: GONE, gone: true } as const;
  }

  /** Indexes the turns of a session after `from` and returns the number of messages. The index ignores messages that it already has. */
  async function read(session: SessionDocument, from: number): Promise<number> {
    const { epoch, lastSeq } = session;
    let [rows, cursor]: [number, string?] = [0];
    while (from < lastSeq) {
      const page = await deps.turns
        .for({ tenant })
        .find(
          { epoch, seq: { gt: from, lte: lastSeq } },
          { sort: [['seq', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
        );
      const entries = await getEntries(deps, session, page.items);
      await index.apply(entries, null);
      rows += entries.length;
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    return rows;
  }

  async function followSession(session: SessionDocument): Promise<IndexedSession> {
    const { key, epoch, lastSeq: seq } = session;
    const before = known.get(key);
    if (before && before.epoch !== epoch) await forgetEpoch(before.epoch);
    const there = before?.epoch === epoch ? before : { seq: 0, rows: 0 };
    const one = { epoch, seq, rows: there.rows + (await read(session, there.seq)) };
    known.set(key, one);
    return one;
  }

  async function follow(): Promise<void> {
    let to = await index.getPosition();
    if (!opened && to !== null) {
      await learn();
      unproven = to;
    }
    opened = true;
    const since = Math.max(0, (to ?? 0) - OVERLAP_MS);
    let cursor: string | undefined;
    do {
      const page = await sessions.find(
        { updatedAt: { gte: since } },
        { sort: [['updatedAt', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
      );
      for (const session of page.items) {
        if (!goesOn()) return;
        await followSession(session);
      }
      to = page.items.at(-1)?.updatedAt ?? to;
      if (page.items.length > 0) await index.apply([], to);
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  /**
   * Repairs entries that a damaged file has lost. `follow` reads changed sessions only and would never restore them. A session that is
   * reset or deleted meanwhile is removed by the sweep, because this function records the session in `known`.
   */
  async function heal(to: number): Promise<number> {
    let [healed, cursor]: [number, string?] = [0];
    do {
      const page = await sessions.find(
        { updatedAt: { gte: 0 } },
        { sort: [['updatedAt', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
      );
      for (const session of page.items) {
        if (!goesOn()) return healed;
        if (await healSession(session, to)) healed += 1;
      }
      cursor = page.cursor;
    } while (cursor !== undefined);
    unproven = undefined;
    return healed;
  }

  async function healSession(session: SessionDocument, to: number): Promise<boolean> {
    const { key, updatedAt, messageCount } = session;
    const before = known.get(key)?.rows ?? 0;
    const one = await followSession(session);
    // Only the newest messages were missing. Messages after the recorded position are not a loss.
    if (one.rows >= messageCount) return one.rows > before && updatedAt <= to;
    const rows = await read(session, 0);
    known.set(key, { ...one, rows });
    return rows > before;
  }

  return {
    follow,
    async search({ text, owners, limit }) {
      const options = { tenant, group: GROUP, owners, text, partial: true, limit, now: store.now() };
      const { hits } = await index.search(options);
      return hits.map(({ id, score }) => ({ place: readName(id), score }));
    },
    forget: (places) =>
      index.apply(
        places.map((place) => gone(getName(place))),
        null,
      ),
    async sweep() {
      const healed = unproven === undefined ? 0 : await heal(unproven);
      const keys = [...known.keys()];
      for (let at = 0; at < keys.length && goesOn(); at += PAGE) {
        const some = keys.slice(at, at + PAGE);
        const there = new Map((await sessions.find({ key: { in: some } }, { limit: PAGE })).items.map(({ key, epoch }) => [key, epoch]));
        for (const key of some) {
          const one = known.get(key);
          if (one === undefined || there.get(key) === one.epoch) continue;
          await forgetEpoch(one.epoch);
          if (!there.has(key)) known.delete(key);
        }
      }
      return healed;
    },
  };
}

/** Returns the messages of the turns as index entries. */
async function getEntries(
  { tenant, bodies }: Pick<SaidIndexDeps, 'tenant' | 'bodies'>,
  { key, epoch, createdBy = '' }: SessionDocument,
  turns: readonly TurnDocument[],
): Promise<SearchEntry[]> {
  const all = turns.flatMap((turn) => {
    const times = messageTimes(turn);
    return listMessages(turn).map((one, at) => ({ ...one, at, seq: turn.seq ?? 0, createdAt: times[at] ?? turn.createdAt }));
  });
  const texts = await loadTexts(bodies.for({ tenant }), all);
  return all.map(({ turnId, at, seq, role, createdAt }, n) => ({
    tenant,
    id: getName({ turnId, at, seq, epoch, sessionKey: key }),
    group: GROUP,
    owner: createdBy,
    kind: epoch,
    trust: role,
    tags: [],
    session: key,
    text: texts[n] ?? '',
    bytes: 0,
    createdAt,
    expiresAt: undefined,
    version: THERE,
  }));
}
