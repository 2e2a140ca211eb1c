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
  const ask = createAsk(client, { log, timeoutMs, onAnswer: () => debts.flush() });
  const values = `switchyard:${service}:value:`;
  const debts: PendingWrites = createPendingWrites(
    async (name, value, ttlMs) => (await ask(() => write(client, values + name, value, ttlMs))) !== undefined,
  );

  async function change(name: string, value: string | null, ttlMs: number): Promise<void> {
    debts.remove(name);
    const written = await ask(() => write(client, values + name, value, ttlMs));
    if (written === undefined) debts.add(name, value, ttlMs);
    else debts.remove(name); // an earlier, slower write of the same key
  }

  return {
    shared: true,
    async take(key, rate, amount = 1) {
      checkTake(rate, amount);
      const name = hashKey(key);
      const asked = await ask(() => client.switchyardTake(`switchyard:${service}:window:${name}`, rate.max, rate.windowMs, amount));
      if (asked === undefined) return local.take(name, rate, amount);
      return asked.answer < 0 ? Number.POSITIVE_INFINITY : asked.answer;
    },
    async add(key, amount, ttlMs) {
      checkAdd(amount, ttlMs);
      const name = hashKey(key);
      const asked = await ask(() => client.switchyardAdd(`switchyard:${service}:counter:${name}`, amount, ttlMs));
      return asked === undefined ? local.add(name, amount, ttlMs) : Number(asked.answer);
    },
    async count(key) {
      const name = hashKey(key);
      const asked = await ask(() => client.get(`switchyard:${service}:counter:${name}`));
      return asked === undefined ? local.count(name) : Number(asked.answer ?? 0);
    },
    async get(key) {
      const name = hashKey(key);
      debts.flush();
      const asked = debts.get(name) === undefined ? await ask(() => client.get(values + name)) : undefined;
      const owed = debts.get(name);
      return (owed === undefined ? asked?.answer : owed.value) ?? undefined;
    },
    async set(key, value, ttlMs) {
      checkSet(value, ttlMs);
      await change(hashKey(key), value, ttlMs);
    },
    delete: (key) => change(hashKey(key), null, MAX_TTL_MS),
    board(key, keepMs) {
      checkBoard(keepMs);
      return createRedisBoard({ client, ask, entry: `switchyard:${service}:board:${hashKey(key)}`, keepMs });
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
    onOpen: (reason) => log.warn({ reason }, 'the cache does not answer; this replica counts alone until it does'),
    onClose: () => log.info('the cache answers again'),
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
