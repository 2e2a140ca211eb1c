import assert from 'node:assert/strict';
import { createClient, type Client } from '@switchyard/client';
import { retryUnavailable } from './retry.ts';
import { startStreams, type StreamsResult } from './streams.ts';

/** Sessions that have a turn at any time, unless a test asks for fewer. */
const SESSIONS = 8;
/** The streams create sessions without end, so a call that lists all of them would become slower with time. */
const LISTED_SESSIONS = 10;

export interface LoadResult extends StreamsResult {
  calls: number;
  turns: number;
  slowestMs: number;
}

/** Calls and turns at a constant rate, of a client that retries UNAVAILABLE, and streams in progress. */
export interface Load extends AsyncDisposable {
  /**
   * Stops, and rejects with the first failed call or the first gap of a stream. Checks that each message of each session was accepted
   * once and in its order.
   */
  end(): Promise<LoadResult>;
}

export interface LoadOptions {
  url: string;
  token: string;
  callsPerSecond: number;
  sessions?: number;
  /** Prefix of the sessions. */
  name: string;
}

/** Starts the load. One of its calls per session is a turn; the rest of the rate are short calls. */
export function startLoad({ url, token, callsPerSecond, sessions = SESSIONS, name }: LoadOptions): Load {
  const client = createClient({ url, token });
  const streams = startStreams({ url, token, name });
  const sent = new Map<string, string[]>();
  const result = { calls: 0, turns: 0, slowestMs: 0 };
  const pending = new Set<Promise<void>>();
  let failure: unknown;
  let ending = false;

  const measure = async (call: () => Promise<unknown>): Promise<void> => {
    const begin = performance.now();
    await retryUnavailable(call);
    result.slowestMs = Math.max(result.slowestMs, Math.round(performance.now() - begin));
    result.calls++;
  };
  const start = (work: Promise<void>): void => {
    const tracked = work.catch((error: unknown) => void (failure ??= error)).finally(() => pending.delete(tracked));
    pending.add(tracked);
  };
  const converse = async (channelId: string): Promise<void> => {
    const messages: string[] = [];
    sent.set(channelId, messages);
    await streams.connected;
    for (let n = 0; !ending && failure === undefined; n++) {
      const message = `${channelId} ${n}`;
      await measure(() =>
        client.call('agent.execute', { message, sessionKey: { channelId } }, { idempotencyKey: message.replace(' ', '-') }),
      );
      messages.push(message);
      result.turns++;
    }
  };

  for (let n = 0; n < sessions; n++) start(converse(`${name}-${n}`));
  const timer = setInterval(
    () => start(measure(() => client.call('session.list', { kind: 'dm', limit: LISTED_SESSIONS }))),
    1_000 / callsPerSecond,
  );
  const stop = async (): Promise<void> => {
    ending = true;
    clearInterval(timer);
    await Promise.all(pending);
  };
  return {
    async end() {
      await stop();
      if (failure !== undefined) throw failure;
      for (const [channelId, messages] of sent) await assertAcceptedOnce(client, channelId, messages);
      return { ...result, ...(await streams.end([...sent.values()].flat())) };
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await streams[Symbol.asyncDispose]();
      client.close();
    },
  };
}

/** Compares the newest messages of a session with those that were sent. */
async function assertAcceptedOnce(client: Client, channelId: string, messages: readonly string[]): Promise<void> {
  const { messages: kept } = await retryUnavailable(() => client.call('session.history', { channelId, limit: 1_000 }));
  const accepted = kept.filter(({ role }) => role === 'user').map(({ content }) => content);
  assert.ok(accepted.length > 0, `${channelId} has no messages`);
  assert.deepEqual(accepted, messages.slice(-accepted.length), channelId);
}
