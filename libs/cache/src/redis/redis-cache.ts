import type { Logger } from '@switchyard/telemetry';
import { MAX_TTL_MS, type Cache } from '../port/cache.ts';
import { checkAdd, checkBoard, checkSet, checkTake } from '../port/validation.ts';
import { hashKey } from '../port/entry-name.ts';
import { createLocalCounters } from '../memory/local-counters.ts';
import { createBreaker } from './circuit-breaker.ts';
import { connectRedis, type RedisClient } from './connect-redis.ts';
import { createPendingWrites, type PendingWrites } from './pending-writes.ts';
import { createRedisBoard, type ExecuteCommand } from './redis-board.ts';
import { getErrorMessage, withTimeout } from './timeout.ts';

const TIMEOUT_MS = 50;
const FAILURES = 5;
const OPEN_MS = 1_000;

export interface RedisCacheOptions {
  /** Prefix of the entries: `switchyard:<service>:…`. */
  service: string;
  log: Logger;
  /** How long a call waits for the server. Default: 50 ms, because a slower cache is useless. */
  timeoutMs?: number;
}

/** Opens a cache on Redis. All entries expire. While the server is unreachable this process answers from memory. */
export async function openRedisCache(url: string, { service, log, timeoutMs = TIMEOUT_MS }: RedisCacheOptions): Promise<Cache> {
  const client = await connectRedis(url, { service, log });
  const local = createLocalCounters();
  const execute = createAsk(client, { log, timeoutMs, onAnswer: () => pendingWrites.flush() });
  const values = `switchyard:${service}:value:`;
  const pendingWrites: PendingWrites = createPendingWrites(
    async (name, value, ttlMs) => (await execute(() => write(client, values + name, value, ttlMs))) !== undefined,
  );

  async function change(name: string, value: string | null, ttlMs: number): Promise<void> {
    pendingWrites.remove(name);
    const written = await execute(() => write(client, values + name, value, ttlMs));
    if (written === undefined) pendingWrites.add(name, value, ttlMs);
    else pendingWrites.remove(name); // an earlier, slower write of the same key
  }

  return {
    shared: true,
    async take(key, rate, amount = 1) {
      checkTake(rate, amount);
      const name = hashKey(key);
      const reply = await execute(() => client.switchyardTake(`switchyard:${service}:window:${name}`, rate.max, rate.windowMs, amount));
      if (reply === undefined) return local.take(name, rate, amount);
      return reply.answer < 0 ? Number.POSITIVE_INFINITY : reply.answer;
    },
    async add(key, amount, ttlMs) {
      checkAdd(amount, ttlMs);
      const name = hashKey(key);
      const reply = await execute(() => client.switchyardAdd(`switchyard:${service}:counter:${name}`, amount, ttlMs));
      return reply === undefined ? local.add(name, amount, ttlMs) : Number(reply.answer);
    },
    async count(key) {
      const name = hashKey(key);
      const reply = await execute(() => client.get(`switchyard:${service}:counter:${name}`));
      return reply === undefined ? local.count(name) : Number(reply.answer ?? 0);
    },
    async get(key) {
      const name = hashKey(key);
      pendingWrites.flush();
      const reply = pendingWrites.get(name) === undefined ? await execute(() => client.get(values + name)) : undefined;
      const pending = pendingWrites.get(name);
      return (pending === undefined ? reply?.answer : pending.value) ?? undefined;
    },
    async set(key, value, ttlMs) {
      checkSet(value, ttlMs);
      await change(hashKey(key), value, ttlMs);
    },
    delete: (key) => change(hashKey(key), null, MAX_TTL_MS),
    board(key, keepMs) {
      checkBoard(keepMs);
      return createRedisBoard({ client, execute, entry: `switchyard:${service}:board:${hashKey(key)}`, keepMs });
    },
    async close() {
      client.disconnect();
    },
  };
}

interface AskOptions {
  log: Logger;
  timeoutMs: number;
  onAnswer: () => void;
}

function createAsk(client: RedisClient, { log, timeoutMs, onAnswer }: AskOptions): ExecuteCommand {
  const breaker = createBreaker({
    failures: FAILURES,
    openMs: OPEN_MS,
    onOpen: (reason) => log.warn({ reason }, 'the cache server does not respond; using local counters'),
    onClose: () => log.info('the cache server responds again'),
  });
  return async (command) => {
    if (!breaker.allows()) return undefined;
    if (client.status !== 'ready') {
      breaker.failed('not connected');
      return undefined;
    }
    try {
      const answer = await withTimeout(timeoutMs, command());
      breaker.succeeded();
      onAnswer();
      return { answer };
    } catch (error) {
      breaker.failed(getErrorMessage(error));
      return undefined;
    }
  };
}

async function write(client: RedisClient, entry: string, value: string | null, ttlMs: number): Promise<void> {
  if (value === null) await client.del(entry);
  else await client.set(entry, value, 'PX', Math.max(1, ttlMs));
}
