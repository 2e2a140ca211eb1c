import { ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import { Redis } from 'ioredis';
import { SCRIPTS, type Scripted } from './lua-scripts.ts';
import { getErrorMessage, withTimeout } from './timeout.ts';

/** Opening waits this long at most. A service starts even if the server is unreachable. */
const CONNECT_TIMEOUT_MS = 1_000;
/** A connection without a reply for this long is closed. */
const SOCKET_TIMEOUT_MS = 1_000;
const MIN_RECONNECT_DELAY_MS = 50;
const MAX_RECONNECT_DELAY_MS = 1_000;
const CREDENTIALS_REJECTED = /^(WRONGPASS|NOAUTH|NOPERM|ERR invalid password)/;

export type RedisClient = Redis & Scripted;

export interface ConnectRedisOptions {
  /** Part of the connection name on the server. */
  service: string;
  log: Logger;
}

/**
 * Connects and reconnects forever, without waiting for an unreachable server. Throws FAILED_PRECONDITION if the server rejects the
 * credentials.
 */
export async function connectRedis(url: string, { service, log }: ConnectRedisOptions): Promise<RedisClient> {
  const client = new Redis({
    ...readUrl(url),
    scripts: SCRIPTS,
    connectionName: `switchyard:${service}`,
    protocol: 2,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    // Commands neither wait for an unreachable server nor run twice.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(MIN_RECONNECT_DELAY_MS * 2 ** Math.min(attempt, 10), MAX_RECONNECT_DELAY_MS),
    // Both options need permissions that the user of a service lacks.
    enableReadyCheck: false,
    disableClientInfo: true,
    lazyConnect: true,
  }) as RedisClient;
  let lastReason: string | undefined;
  const logUnreachable = (reason: string): void => {
    if (reason !== lastReason) log.warn({ reason }, 'cannot connect to the cache server; using local counters');
    lastReason = reason;
  };
  client.on('error', ({ message }: Error) => logUnreachable(message));
  client.on('ready', () => (lastReason = undefined));
  const failure = await probeConnection(client, service);
  if (failure === undefined) return client;
  if (CREDENTIALS_REJECTED.test(failure)) {
    client.disconnect();
    const message = 'the cache server rejects the credentials, or they lack permissions';
    throw new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'CACHE_CREDENTIALS' } });
  }
  logUnreachable(failure);
  return client;
}

/** Connects and runs a probe command. Returns the first error message, or undefined. */
async function probeConnection(client: RedisClient, service: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  client.once('error', ({ message }: Error) => resolve(message));
  const trying = client.connect().then(() => client.switchyardAdd(`switchyard:${service}:probe`, 0, 1));
  trying.then(
    () => resolve(undefined),
    ({ message }: Error) => resolve(message),
  );
  try {
    return await withTimeout(CONNECT_TIMEOUT_MS, promise);
  } catch (error) {
    return getErrorMessage(error);
  }
}

interface Address {
  host: string;
  port: number;
  username?: string;
  password?: string;
  db?: number;
  tls?: object;
}

const DEFAULT_PORT = 6379;

function readUrl(url: string): Address {
  const { hostname, port, username, password, pathname, protocol } = new URL(url);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? DEFAULT_PORT : Number(port),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(pathname.length > 1 ? { db: Number(pathname.slice(1)) } : {}),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
}
