import type { Handler } from '@switchyard/bus';
import type { Principal, Result } from '@switchyard/contracts';
import { createTextMatcher } from '@switchyard/store';
import { type SessionDocument, labelField } from '../../model/session-document.ts';
import type { TurnDocument } from '../../model/turn-document.ts';
import type { Place } from '../../search/message-location.ts';
import type { SaidIndex } from '../../search/message-index.ts';
import type { SaidIndexes } from '../../search/tenant-message-indexes.ts';
import { getSnippet } from '../../search/snippet.ts';
import { findCallerSession, messageTimes, type HistoryDeps } from '../../sessions/session-directory.ts';
import { canSee } from '../../model/session-ownership.ts';
import { channelKind } from '../../model/session-key.ts';
import { waitUntilSettled } from '../../sessions/session-settling.ts';
import { loadTexts } from '../../model/stored-text.ts';
import { isOutside, isUntrusted } from '../../screening/untrusted-message.ts';
import { listMessages } from '../../model/turn-messages.ts';

type Match = Result<'session.search'>[number];

/**
 * Search limits as multiples of the requested number of sessions. The search repeats with the next one if too many hits belong to the
 * same sessions.
 */
const WIDTHS = [5, 25, 125];

export interface SessionSearchDeps extends HistoryDeps {
  indexes: SaidIndexes;
}

/**
 * Returns matching sessions with their best hit, best match first. The index provides the locations, the documents provide the content.
 */
export function sessionSearch({ indexes, ...reading }: SessionSearchDeps): Handler<'session.search'> {
  return async ({ query, limit }, { principal }) => {
    const own = await findCallerSession(reading.sessions, principal);
    // Ensures that a turn whose response the caller already has is searchable.
    if (own) await waitUntilSettled(reading, principal.tenant, own);
    return indexes.use(principal.tenant, (index) => search({ ...reading, index }, principal, { query, limit }));
  };
}

interface Searching extends HistoryDeps {
  index: SaidIndex;
}

async function search(deps: Searching, principal: Principal, { query, limit }: { query: string; limit: number }): Promise<Match[]> {
  const owners = principal.sessions === 'own' ? [principal.client, ''] : undefined;
  let matches: Match[] = [];
  for (const width of WIDTHS) {
    const requestCount = limit * width;
    const hits = await deps.index.search({ text: query, owners, limit: requestCount });
    const best = new Map<string, (typeof hits)[number]>();
    for (const hit of hits) if (!best.has(hit.place.sessionKey)) best.set(hit.place.sessionKey, hit);
    const found = [...best.values()].slice(0, limit);
    matches = await loadMatches(deps, principal, { query, found });
    if (matches.length >= limit || hits.length < requestCount) break;
  }
  return matches;
}

interface IndexMatches {
  query: string;
  found: readonly { place: Place; score: number }[];
}

async function loadMatches(deps: Searching, principal: Principal, { query, found }: IndexMatches): Promise<Match[]> {
  const { sessions, turns, bodies, index } = deps;
  const places = found.map(({ place }) => place);
  const [bySession, byTurn] = await Promise.all([
    sessions.for(principal).find({ key: { in: places.map(({ sessionKey }) => sessionKey) } }, { limit: places.length || 1 }),
    turns.for(principal).find({ turnId: { in: places.map(({ turnId }) => turnId) } }, { limit: places.length || 1 }),
  ]);
  const there = found.flatMap((hit) => {
    const session = bySession.items.find(({ key }) => key === hit.place.sessionKey);
    const turn = byTurn.items.find(({ turnId }) => turnId === hit.place.turnId);
    return session && turn && isThere(hit.place, session) ? { ...hit, session, turn } : [];
  });
  const stale = places.filter((place) => !there.some((hit) => hit.place === place));
  if (stale.length > 0) await index.forget(stale);
  const visible = there.filter(({ session }) => canSee(principal, session));
  const texts = await loadTexts(
    bodies.for(principal),
    visible.flatMap(({ turn, place }) => listMessages(turn)[place.at] ?? []),
  );
  const isAgent = principal.session !== undefined;
  const matcher = createTextMatcher(query);
  const matches: Match[] = [];
  for (const [at, hit] of visible.entries()) {
    const snippet = await getSnippet(texts[at] ?? '', matcher);
    matches.push({ ...toMatch(hit, snippet), ...(isAgent ? getMarks(hit) : {}) });
  }
  return matches;
}

function isThere({ epoch, seq }: Place, session: SessionDocument): boolean {
  return session.epoch === epoch && seq <= session.lastSeq;
}

interface Hit {
  place: Place;
  score: number;
  session: SessionDocument;
  turn: TurnDocument;
}

function getMarks({ turn, place }: Hit): Pick<Match, 'untrusted' | 'outside'> {
  const role = listMessages(turn)[place.at]?.role ?? 'user';
  return {
    ...(isUntrusted(turn, role) && { untrusted: true as const }),
    ...(isOutside(turn, role) && { outside: true as const }),
  };
}

function toMatch({ place, score, session, turn }: Hit, snippet: string): Match {
  const { key: sessionKey, agentId, channelId } = session;
  const channelType = channelKind(channelId);
  return {
    sessionKey,
    agentId,
    ...labelField(session),
    channelType,
    snippet,
    score,
    timestamp: messageTimes(turn)[place.at] ?? turn.createdAt,
  };
}
