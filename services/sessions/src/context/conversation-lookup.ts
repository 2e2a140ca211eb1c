import { ServiceError, type Principal } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import type { SummaryDocument } from '../model/summary-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { loadTexts } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { isOutside, isUntrusted } from '../screening/untrusted-message.ts';
import { findCallerSession, messageTimes } from '../sessions/session-directory.ts';
import { listMessages } from '../model/turn-messages.ts';

/** Lookups of a turn in its own conversation. */
export interface Earlier {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  summaries: Collection<SummaryDocument>;
}

/** An earlier message of the conversation. */
export interface EarlierMessage {
  /** The turn id with the index of the message in the turn. */
  id: string;
  turn: number;
  role: 'user' | 'assistant';
  at: number;
  content: string;
  untrusted?: true;
  /** The text is or may repeat text from outside this system. */
  outside?: true;
}

const PAGE = 100;

/** Returns the conversation of the calling turn. Throws NOT_FOUND for a caller outside of a turn. */
export async function getConversation({ sessions }: Earlier, principal: Principal): Promise<SessionDocument> {
  const session = principal.session === undefined ? undefined : await findCallerSession(sessions, principal);
  if (!session) throw new ServiceError('NOT_FOUND', 'Conversation not found.');
  return session;
}

/** Returns a summary of the conversation. Throws NOT_FOUND for a summary of another conversation. */
export async function getSummary({ summaries }: Earlier, tenant: string, request: { session: SessionDocument; id: string }) {
  const { key, epoch } = request.session;
  const summary = await summaries.for({ tenant }).get(request.id);
  if (summary?.sessionKey !== key || summary.epoch !== epoch) throw unknown();
  return summary;
}

/** Returns a message of the conversation by its id. */
export async function getMessage(
  earlier: Earlier,
  tenant: string,
  { session, id }: { session: SessionDocument; id: string },
): Promise<EarlierMessage> {
  const [turnId = ''] = id.split('/');
  const turn = await earlier.turns.for({ tenant }).get(turnId);
  const counted = turn?.epoch === session.epoch && turn.seq !== undefined && turn.seq <= session.lastSeq;
  const foundMessage = counted ? (await getMessages(earlier, tenant, [turn])).find((one) => one.id === id) : undefined;
  if (!foundMessage) throw unknown();
  return foundMessage;
}

export interface Range {
  from: number;
  to: number;
  newestFirst?: boolean;
}

/** Yields the messages of a range of turns page by page, so that the caller can stop early. */
export async function* messagesBetween(
  earlier: Earlier,
  tenant: string,
  { session, from, to, newestFirst = false }: Range & { session: SessionDocument },
): AsyncGenerator<EarlierMessage, void, void> {
  const { epoch, lastSeq } = session;
  const seq = { gte: from, lte: Math.min(to, lastSeq) };
  let cursor: string | undefined;
  do {
    const page = await earlier.turns
      .for({ tenant })
      .find({ epoch, seq }, { sort: [['seq', newestFirst ? 'desc' : 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    const texts = await getMessages(earlier, tenant, page.items);
    yield* newestFirst ? texts.toReversed().toSorted((one, other) => other.turn - one.turn) : texts;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

async function getMessages({ bodies }: Earlier, tenant: string, turns: readonly TurnDocument[]): Promise<EarlierMessage[]> {
  const all = turns.flatMap((turn) => listMessages(turn).map((one, n) => ({ ...one, n, turn })));
  const contents = await loadTexts(bodies.for({ tenant }), all);
  return all.map(({ role, n, turn }, at) => ({
    id: `${turn.turnId}/${n}`,
    turn: turn.seq ?? 0,
    role,
    at: messageTimes(turn)[n] ?? turn.createdAt,
    content: contents[at] ?? '',
    ...(isUntrusted(turn, role) ? { untrusted: true as const } : {}),
    ...(isOutside(turn, role) ? { outside: true as const } : {}),
  }));
}

function unknown(): ServiceError {
  return new ServiceError('NOT_FOUND', 'Message or summary not found in this conversation.');
}
