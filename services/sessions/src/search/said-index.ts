import type { SearchEntry, SearchIndex, Store } from '@switchyard/store';
import { timesOf, type Reading } from '../sessions/directory.ts';
import type { SessionDocument, TurnDocument } from '../data.ts';
import { texts } from '../turns/bodies.ts';
import { spoken } from '../turns/spoken.ts';
import { nameOf, readName, type Place } from './found.ts';

/** What was said in the sessions of one tenant, found by its words. */
export interface SaidIndex {
  /** Reads what was counted since. What was counted before this was called is found after it. */
  follow(): Promise<void>;
  search(asked: { text: string; owners: readonly string[] | undefined; limit: number }): Promise<{ place: Place; score: number }[]>;
  /** These are there no more. */
  forget(places: readonly Place[]): Promise<void>;
  /** Looks whether the sessions that it knows are still there, and forgets what was said in those that are not. */
  sweep(): Promise<void>;
}

export interface SaidIndexDeps extends Pick<Reading, 'sessions' | 'turns' | 'bodies'> {
  store: Pick<Store, 'now'>;
  tenant: string;
  index: SearchIndex;
  /** Asked between pages: what it says no to goes on another time. */
  goesOn: () => boolean;
}

/** A session may be counted so long after the moment that is written in it. */
const OVERLAP_MS = 60_000;
const PAGE = 100;
const LIST_PAGE = 2_000;
/** All of a tenant is searched together. */
const GROUP = '';
/** What was said never changes: it is there, or gone. */
const [THERE, GONE] = [1, 2];

interface Known {
  epoch: string;
  seq: number;
}

/**
 * It follows the sessions by the time of their last change, and each by the numbers of its turns: so a turn is indexed when
 * somebody searches, and costs nothing before. What is read of a session that was deleted meanwhile is found by nobody, because what is
 * found is read from the documents.
 */
export function createSaidIndex(deps: SaidIndexDeps): SaidIndex {
  const { index, tenant, store, goesOn } = deps;
  const sessions = deps.sessions.for({ tenant });
  const known = new Map<string, Known>();
  let opened = false;

  /** What an earlier process has left in it. */
  async function learn(): Promise<void> {
    for (let offset = 0; ; offset += LIST_PAGE) {
      const { ids } = await index.list({ tenant, group: GROUP, now: store.now(), oldestFirst: true, offset, limit: LIST_PAGE });
      for (const { sessionKey, epoch, seq } of ids.map(readName)) {
        const one = known.get(sessionKey);
        if (one === undefined || one.seq < seq) known.set(sessionKey, { epoch, seq });
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

  async function followSession(session: SessionDocument): Promise<void> {
    const { key, epoch, lastSeq } = session;
    const before = known.get(key);
    if (before && before.epoch !== epoch) await forgetEpoch(before.epoch);
    const from = before?.epoch === epoch ? before.seq : 0;
    let cursor: string | undefined;
    while (from < lastSeq) {
      const page = await deps.turns
        .for({ tenant })
        .find(
          { epoch, seq: { gt: from, lte: lastSeq } },
          { sort: [['seq', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
        );
      await index.apply(await entriesOf(deps, session, page.items), null);
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    known.set(key, { epoch, seq: lastSeq });
  }

  async function follow(): Promise<void> {
    let to = await index.followedTo();
    if (!opened && to !== null) await learn();
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

  return {
    follow,
    async search({ text, owners, limit }) {
      const asked = { tenant, group: GROUP, owners, text, limit, now: store.now(), vectors: false };
      const { hits } = await index.search(asked);
      return hits.map(({ id, score }) => ({ place: readName(id), score }));
    },
    forget: (places) =>
      index.apply(
        places.map((place) => gone(nameOf(place))),
        null,
      ),
    async sweep() {
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
    },
  };
}

/** All that was said in some turns of a session, as the index takes it. */
async function entriesOf(
  { tenant, bodies }: Pick<SaidIndexDeps, 'tenant' | 'bodies'>,
  { key, epoch, createdBy = '' }: SessionDocument,
  turns: readonly TurnDocument[],
): Promise<SearchEntry[]> {
  const all = turns.flatMap((turn) => {
    const times = timesOf(turn);
    return spoken(turn).map((one, at) => ({ ...one, at, seq: turn.seq ?? 0, createdAt: times[at] ?? turn.createdAt }));
  });
  const said = await texts(bodies.for({ tenant }), all);
  return all.map(({ turnId, at, seq, role, createdAt }, n) => ({
    tenant,
    id: nameOf({ turnId, at, seq, epoch, sessionKey: key }),
    group: GROUP,
    owner: createdBy,
    kind: epoch,
    trust: role,
    tags: [],
    session: key,
    text: said[n] ?? '',
    bytes: 0,
    createdAt,
    expiresAt: undefined,
    version: THERE,
  }));
}
