import assert from 'node:assert/strict';
import { progressEvents } from '@switchyard/contracts';
import { createClient, type ChatEvent, type Client, type SystemEvent } from '@switchyard/client';
import { isConnectionLost, retryUnavailable } from './retry.ts';

/** The agent of `FEW_SERVICES` that sends 20 words a second. */
const SLOW_AGENT = 'slow';
/** An answer of some two seconds, so that a few are always in progress. */
const WORDS = 40;
const STREAMS_PER_TRANSPORT = 2;
/** Events may arrive after the answers of the calls that caused them. */
const EVENTS_TIMEOUT_MS = 60_000;

export interface StreamsResult {
  events: number;
  /** Complete responses over server-sent events and over WebSockets. */
  streams: number;
  sockets: number;
}

/** Streams that are in progress while something is upgraded. */
export interface Streams extends AsyncDisposable {
  /** Resolves when the event stream is connected: events of later messages must all arrive. */
  connected: Promise<void>;
  /** Stops, and rejects with the first gap: of a response, or of the events of these messages. */
  end(messages: readonly string[]): Promise<StreamsResult>;
}

export interface StreamsOptions {
  url: string;
  token: string;
  /** Prefix of the sessions. */
  name: string;
}

/** Starts the event stream, and responses over server-sent events and WebSockets, one after the other. */
export function startStreams({ url, token, name }: StreamsOptions): Streams {
  const clients = { streams: createClient({ url, token }), sockets: createClient({ url, token, transport: 'ws' }) };
  const result: StreamsResult = { events: 0, streams: 0, sockets: 0 };
  const events = readEvents(clients.streams);
  let ending = false;
  let failure: unknown;

  const readResponses = async (transport: keyof typeof clients, session: string): Promise<void> => {
    for (let n = 0; !ending && failure === undefined; n++)
      if (await readResponse(clients[transport], `${session}-${n}`)) result[transport]++;
  };
  const transports = ['streams', 'sockets'] as const;
  const reading = transports.flatMap((transport) =>
    Array.from({ length: STREAMS_PER_TRANSPORT }, (_, n) =>
      readResponses(transport, `${name}-${transport}-${n}`).catch((error: unknown) => void (failure ??= error)),
    ),
  );
  return {
    connected: events.connected,
    async end(messages) {
      ending = true;
      await Promise.all(reading);
      if (failure !== undefined) throw failure;
      result.events = await events.awaitMessages(messages);
      return result;
    },
    async [Symbol.asyncDispose]() {
      ending = true;
      for (const client of Object.values(clients)) client.close();
      await Promise.all([...reading, events.ended]);
    },
  };
}

/** Streams one response. Returns false if the connection broke before its first event, when a client must not repeat the question. */
async function readResponse(client: Client, session: string): Promise<boolean> {
  const message = Array.from({ length: WORDS }, (_, n) => `${session}.${n}`).join(' ');
  const progress = { text: '', started: false };
  const read = (): Promise<void> => assertComplete(client.chat(message, { agentId: SLOW_AGENT, sessionKey: session }), progress);
  try {
    await retryUnavailable(read, (error) => !progress.started && !isConnectionLost(error));
  } catch (error) {
    if (isConnectionLost(error) && !progress.started) return false;
    throw error;
  }
  assert.ok(progress.text.endsWith(message), `${session}: ${progress.text}`);
  const { messages } = await retryUnavailable(() => client.call('session.history', { channelId: session }, { idempotent: true }));
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant'],
    session,
  );
  return true;
}

/** Each token continues the text before it, and the last text is the response. */
async function assertComplete(events: AsyncIterable<ChatEvent>, progress: { text: string; started: boolean }): Promise<void> {
  for await (const event of events) {
    progress.started = true;
    if (event.type === 'done') {
      assert.equal(event.response, progress.text, 'a part of the response did not arrive');
      return;
    }
    progress.text = event.type === 'token' ? progress.text + event.delta : event.accumulated;
    assert.equal(event.accumulated, progress.text, 'a token did not arrive');
  }
  throw new Error('the stream ended without a response');
}

interface EventReader {
  connected: Promise<void>;
  /** Resolves to the number of events when one arrived for each message. Rejects after a reset, or when one is missing. */
  awaitMessages(messages: readonly string[]): Promise<number>;
  ended: Promise<void>;
}

function readEvents(client: Client): EventReader {
  const connected = Promise.withResolvers<void>();
  const received = new Set<string>();
  const ids = new Set<string>();
  let arrived = Promise.withResolvers<void>();
  let failure: unknown;

  const accept = (event: SystemEvent): void => {
    connected.resolve();
    if (event.type === 'reset') throw new Error(`events were lost: the stream was reset, ${JSON.stringify(event)}`);
    if (event.type !== 'event') return;
    // An event without an id of its own reports progress. The log does not keep it, and its `id` is that of the event before it.
    if (progressEvents.has(event.name)) return;
    assert.ok(event.id !== undefined && !ids.has(event.id), `the event ${String(event.id)} came twice`);
    ids.add(event.id);
    if (event.name === 'message:received') received.add((event.payload['message'] as { text: string }).text);
    arrived.resolve();
    arrived = Promise.withResolvers();
  };
  const read = async (): Promise<void> => {
    for await (const event of client.events()) accept(event);
  };
  const ended = read().catch((error: unknown) => {
    failure = error;
    connected.resolve();
    arrived.resolve();
  });
  return {
    connected: connected.promise,
    ended,
    async awaitMessages(messages) {
      const timeout = AbortSignal.timeout(EVENTS_TIMEOUT_MS);
      const expired = new Promise<void>((resolve) => timeout.addEventListener('abort', () => resolve()));
      for (;;) {
        if (failure !== undefined) throw failure;
        const missing = messages.filter((message) => !received.has(message));
        if (missing.length === 0) return ids.size;
        if (timeout.aborted) throw new Error(`no event arrived for ${missing.length} messages, such as ${missing[0]}`);
        await Promise.race([arrived.promise, expired]);
      }
    },
  };
}
