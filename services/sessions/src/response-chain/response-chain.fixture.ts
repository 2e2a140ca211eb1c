import { join } from 'node:path';
import type { Params } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { openStore } from '@switchyard/store';
import { tempDir, type MongoServer } from '@switchyard/testkit';
import { keyedTurnCollection } from '../model/keyed-turn-document.ts';
import { responseSegmentCollection } from '../model/response-segment-document.ts';
import { sessionCollection } from '../model/session-document.ts';
import { storageUsageCollection } from '../model/storage-usage-document.ts';
import { bodyCollection } from '../model/text-document.ts';
import { ended, getTurnId, testSessions } from '../sessions.fixture.ts';

let created = 0;
let databases = 0;

export interface ContinueOptions {
  message?: string;
  previous?: string;
  system?: string;
  instructions?: string;
  model?: string;
}

/** The sessions service and a second connection to its database. */
export async function startSessions(mongo?: MongoServer, options: Parameters<typeof testSessions>[0] = {}) {
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(await tempDir());
  const url = mongo === undefined ? `sqlite:${join(path, 'store')}` : nextDatabase(mongo);
  const app = starting.use(await testSessions({ ...options, data: path, env: { SWITCHYARD_STORE: url, ...options.env } }));
  const store = await openStore(url, { service: 'sessions' });
  starting.defer(() => store.close());
  const data = await store.open({
    kept: keyedTurnCollection,
    segments: responseSegmentCollection,
    bodies: bodyCollection,
    sessions: sessionCollection,
    usage: storageUsageCollection,
  });
  const stack = starting.move();
  return { app, data, store, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function nextDatabase({ url }: MongoServer): string {
  const database = new URL(url);
  database.pathname += `c${(databases += 1)}`;
  return database.href;
}

/** Creates a response as the gateway does: it reads the conversation of the previous response and sends all of it. */
export async function createResponse(bus: Bus, options: ContinueOptions = {}): Promise<string> {
  const request = await prepareResponse(bus, options);
  await bus.call('turns.once', request);
  await ended(bus, request.turnId);
  return request.turnId;
}

/** Builds the request of a response that is not sent yet. */
export async function prepareResponse(bus: Bus, options: ContinueOptions = {}): Promise<Params<'turns.once'>> {
  const { message = 'hello', previous, system, instructions, model = 'default' } = options;
  const at = (created += 1);
  const turnId = getTurnId(`chain${at}x`);
  const before = previous === undefined ? undefined : await bus.call('responses.get', { turnId: previous, talk: true });
  const { talk } = before ?? {};
  const history = talk && [
    ...(talk.history ?? []),
    { role: 'user' as const, text: talk.message },
    ...(talk.since ?? []),
    { role: 'assistant' as const, text: before?.result?.response ?? '' },
  ];
  const all = [instructions, talk?.system, system].filter((text) => text !== undefined);
  return {
    turnId,
    model,
    message,
    ...(history && { history }),
    ...(all.length === 0 ? {} : { system: all.join('\n') }),
    idempotencyKey: turnId,
    fingerprint: 'f',
    head: { id: `resp_${at}`, created: at },
    response: {
      echo: { model, at },
      ...(system === undefined ? {} : { system }),
      ...(previous === undefined ? {} : { previous: { turnId: previous, messages: 1 }, ...(instructions && { instructions }) }),
    },
  };
}

/** Characters of all documents of the collections, as JSON. */
export async function countStoredChars({ data }: Pick<Awaited<ReturnType<typeof startSessions>>, 'data'>): Promise<number> {
  let chars = 0;
  for (const documents of [data.kept, data.segments, data.bodies]) {
    const { items } = await documents.for({ tenant: 'default' }).find({}, { limit: 1_000 });
    chars += JSON.stringify(items).length;
  }
  return chars;
}
