import { ServiceError, type Principal } from '@switchyard/contracts';
import type { SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { countChars, countMessages } from '../model/turn-messages.ts';
import { sessionNotFound } from '../model/session-ownership.ts';
import { loadEntries, requireSession, withoutMarks, type HistoryDeps, type HistoryEntry } from './session-directory.ts';
import { waitUntilSettled } from './session-settling.ts';

/** Maximum size of the messages of a page in bytes of JSON. */
const MAX_PAGE_BYTES = 1024 * 1024;
/** Turns per read. Their documents contain short texts. */
const READ_BATCH_SIZE = 50;

export interface HistoryPage {
  /** Oldest first. */
  messages: HistoryEntry[];
  /** Continues with older messages; absent on the last page. */
  cursor?: string;
}

export interface HistoryPageOptions {
  /** Maximum number of messages. */
  limit?: number | undefined;
  cursor?: string | undefined;
}

/**
 * Loads the newest messages of a session, or those before a cursor: whole turns, as many as the limits allow, but at least one. Throws
 * INVALID_ARGUMENT for a cursor of another conversation.
 */
export async function readHistoryPage(
  reading: HistoryDeps,
  principal: Principal,
  seen: SessionDocument,
  { limit = Infinity, cursor }: HistoryPageOptions,
): Promise<HistoryPage> {
  const session = await waitUntilSettled(reading, principal.tenant, seen);
  if (!session) throw sessionNotFound();
  const lastSeq = cursor === undefined ? session.lastSeq : parseCursor(cursor, session) - 1;
  const chosen = await selectTurns(reading, principal, { ...session, lastSeq }, limit);
  const byTurn = await Promise.all(chosen.map((turn) => loadEntries(reading.bodies.for(principal), [turn])));
  if (principal.sessions === 'own') await requireSession(reading.sessions, principal, session.key);

  let bytes = 0;
  // Characters were counted before the texts were read; a character may have several bytes.
  const fitting = byTurn.findIndex((entries, at) => (bytes += measureBytes(entries)) > MAX_PAGE_BYTES && at > 0);
  const count = fitting === -1 ? byTurn.length : fitting;
  const oldest = chosen[count - 1]?.seq ?? 1;
  const isAgent = principal.session !== undefined;
  const messages = byTurn
    .slice(0, count)
    .reverse()
    .flatMap((entries) => (isAgent ? entries : entries.map(withoutMarks)));
  return oldest > 1 ? { messages, cursor: `${session.epoch}.${oldest}` } : { messages };
}

/** Selects the turns of a page without their texts, newest first. */
async function selectTurns(
  { turns }: HistoryDeps,
  principal: Principal,
  { key, epoch, lastSeq }: SessionDocument,
  limit: number,
): Promise<TurnDocument[]> {
  const chosen: TurnDocument[] = [];
  let [messages, chars, before] = [0, 0, lastSeq];
  for (;;) {
    const filter = { sessionKey: key, epoch, seq: { lte: before } };
    const { items } = await turns.for(principal).find(filter, { sort: [['seq', 'desc']], limit: READ_BATCH_SIZE });
    for (const turn of items) {
      messages += countMessages(turn);
      chars += countChars(turn);
      if (chosen.length > 0 && (messages > limit || chars > MAX_PAGE_BYTES)) return chosen;
      chosen.push(turn);
    }
    if (items.length < READ_BATCH_SIZE) return chosen;
    before = (items.at(-1)?.seq ?? 1) - 1;
  }
}

function measureBytes(entries: readonly HistoryEntry[]): number {
  return Buffer.byteLength(JSON.stringify(entries));
}

function parseCursor(cursor: string, { epoch }: SessionDocument): number {
  const [, of, seq] = /^(.+)\.(\d{1,15})$/.exec(cursor) ?? [];
  if (of === epoch) return Number(seq);
  const message = 'Invalid params: cursor: expected the cursor of an answer for this conversation, got another text. Leave cursor out.';
  throw new ServiceError('INVALID_ARGUMENT', message, { details: { reason: 'CURSOR' } });
}
