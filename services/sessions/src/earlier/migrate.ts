import { ServiceError } from '@switchyard/contracts';
import type { Collection, Document, Documents, DocumentOf, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { BodyDocument, SessionDocument, TurnDocument } from '../data.ts';
import { readEntry, toEntry, waiting } from '../sessions/entry.ts';
import type { Bodies } from '../turns/bodies.ts';
import { earlierMessages, migrationCollection, type EarlierMessage, type EarlierSession, type EarlierTurn } from './earlier-data.ts';
import { epochOf, forgotten, madeOf, withAnswer, withoutAnswer } from './turns.ts';

const NAME = 'mailbox';
/** Migrations belong to no tenant. */
const NOBODY = { tenant: 'switchyard' };
const PAGE = 200;

export interface MigrateDeps {
  store: Store;
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  log: Logger;
}

/**
 * Turns what was written when turns held lanes and messages were documents of their own into mailboxes, once. Every write says that it
 * is for a document of that time, so that replicas may start together, and one that dies half-way is made up for at the next start.
 */
export async function migrate(deps: MigrateDeps): Promise<void> {
  const { messages, migrations } = await deps.store.open({ messages: earlierMessages, migrations: migrationCollection });
  if (await migrations.for(NOBODY).get(NAME)) return;
  let found = 0;
  for await (const { tenant, ...session } of all(deps.sessions)) {
    found += 1;
    await migrateSession({ ...deps, messages }, tenant, session);
  }
  for await (const { tenant, ...turn } of all(deps.turns)) await migrateTurn(deps, tenant, turn);
  await migrations.for(NOBODY).replace({ name: NAME, at: deps.store.now() });
  if (found > 0) deps.log.info({ sessions: found }, 'the documents of an earlier version are mailboxes now');
}

async function* all<D extends Document>(collection: Collection<D>): AsyncGenerator<D & { tenant: string }, void, void> {
  let cursor: string | undefined;
  do {
    const page = await collection.system().find({}, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Everything in an order, for one session. */
async function allOf<D extends Document>(documents: Documents<D>, filter: Parameters<Documents<D>['find']>[0]): Promise<D[]> {
  const items: D[] = [];
  let cursor: string | undefined;
  do {
    const page = await documents.find(filter, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    items.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return items;
}

interface SessionDeps extends MigrateDeps {
  messages: Collection<DocumentOf<typeof earlierMessages>>;
}

async function migrateSession(deps: SessionDeps, tenant: string, session: SessionDocument): Promise<void> {
  const { key } = session;
  const messages = deps.messages.for({ tenant });
  if (session.epoch === undefined) {
    const queue = await migrateTurns(deps, tenant, session);
    const [first] = queue;
    await deps.sessions.for({ tenant }).replace(
      {
        ...only(session),
        epoch: epochOf(key),
        queue,
        depth: queue.length,
        owner: null,
        leaseUntil: 0,
        fence: deps.store.now(),
        lastSeq: Math.floor(session.messageCount / 2),
        ...(first === undefined ? {} : waiting(tenant, readEntry(first))),
      },
      { if: { epoch: null } },
    );
  }
  await messages.remove({ sessionKey: key });
}

function only(session: SessionDocument) {
  const { key, agentId, userId, channelId, guildId, kind, createdBy, metadata, createdAt, updatedAt } = session;
  const { messageCount, inputTokens, outputTokens, costUsd, lastSteps } = session;
  const named = { ...(guildId === undefined ? {} : { guildId }), ...(createdBy === undefined ? {} : { createdBy }) };
  return {
    key,
    agentId,
    userId,
    channelId,
    kind,
    metadata,
    createdAt,
    updatedAt,
    messageCount,
    inputTokens,
    outputTokens,
    costUsd,
    lastSteps,
    ...named,
  };
}

/** The turns of a session, and what is left to be done of them, in order. */
async function migrateTurns(deps: SessionDeps, tenant: string, session: SessionDocument & EarlierSession): Promise<string[]> {
  const bodies = deps.bodies.for({ tenant });
  const said = await allOf(deps.messages.for({ tenant }), { sessionKey: session.key, seq: { lt: session.messageCount } });
  const turns = (await allOf(deps.turns.for({ tenant }), { sessionKey: session.key })).filter(isEarlier).map(asEarlier);
  const byId = new Map(turns.map((turn) => [turn.turnId, turn]));
  const pairs = pairsOf(said);
  for (const [at, { question, answer }] of pairs.entries()) {
    const turn = byId.get(question.turnId) ?? madeOf(session, question, answer);
    byId.delete(question.turnId);
    await put(deps, tenant, await withAnswer(bodies, turn, { question: question.content, answer: answer.content, seq: at + 1 }));
  }
  const left = [...byId.values()].toSorted((a, b) => a.seq - b.seq);
  const queue: string[] = [];
  for (const turn of left) {
    // It had ended, and its session had not been told.
    const unsettled = turn.state === 'done' && session.activeTurn === turn.turnId;
    const kept = unsettled ? await uncounted(bodies, turn, pairs.length + 1) : await withoutAnswer(bodies, turn);
    await put(deps, tenant, kept);
    if (unsettled || kept.state === 'queued' || kept.state === 'running') queue.push(toEntry(kept));
  }
  return queue;
}

function uncounted(bodies: Bodies, turn: EarlierTurn, seq: number): Promise<TurnDocument> {
  return withAnswer(bodies, turn, { question: turn.message, answer: turn.result?.response ?? '', seq });
}

function pairsOf(said: readonly EarlierMessage[]) {
  const ordered = said.toSorted((a, b) => a.seq - b.seq);
  return ordered.flatMap((question, at) => {
    const answer = ordered[at + 1];
    return at % 2 === 0 && answer ? [{ question, answer }] : [];
  });
}

/** One that belongs to no session: it is kept for a day, or waits to be put into one. */
async function migrateTurn({ turns, bodies }: MigrateDeps, tenant: string, turn: TurnDocument): Promise<void> {
  if (!isEarlier(turn)) return;
  const kept = await forgotten(bodies.for({ tenant }), asEarlier(turn));
  await turns.for({ tenant }).replace(kept, { if: { checkpoints: null } });
}

function isEarlier(turn: TurnDocument): boolean {
  return turn.checkpoints === undefined;
}

function asEarlier(turn: TurnDocument): EarlierTurn {
  return turn as unknown as EarlierTurn;
}

/** In place of the turn of that time, or new where it was removed and its messages were not. */
async function put({ turns }: MigrateDeps, tenant: string, turn: TurnDocument): Promise<void> {
  const mine = turns.for({ tenant });
  if (await mine.replace(turn, { if: { checkpoints: null } })) return;
  try {
    await mine.insert(turn);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
  }
}
