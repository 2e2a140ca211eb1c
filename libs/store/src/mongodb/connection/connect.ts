import { MongoClient, MongoParseError, type MongoClientOptions } from 'mongodb';
import { ServiceError } from '@switchyard/contracts';
import { invalidUrl, type StoreUrl } from './store-url.ts';
import { CONNECTION_OPTIONS } from './closing-connection.ts';
import { translateError, isAuthenticationError } from './errors.ts';

/** Each wait of the driver has its end. What it repeats by itself it repeats once. */
const TIMEOUTS: MongoClientOptions = {
  serverSelectionTimeoutMS: 5_000,
  connectTimeoutMS: 5_000,
  socketTimeoutMS: 12_000,
  waitQueueTimeoutMS: 5_000,
  heartbeatFrequencyMS: 5_000,
};

const POOL: MongoClientOptions = { maxPoolSize: 50, maxConnecting: 4, maxIdleTimeMS: 60_000 };

/** A write is there when a majority has it in its journal, and is read from there. Said one by one, each wins over the URL. */
const WRITE_CONCERN: MongoClientOptions = {
  w: 'majority',
  journal: true,
  wtimeoutMS: 8_000,
  readConcernLevel: 'majority',
  readPreference: 'primary',
  retryWrites: true,
  retryReads: true,
};

/** Connects, or says in one sentence why not: UNAVAILABLE for a server that may come yet, else FAILED_PRECONDITION. */
export async function connect({ url }: StoreUrl, appName: string): Promise<MongoClient> {
  const client = createClient(url, { ...TIMEOUTS, ...POOL, ...WRITE_CONCERN, ...CONNECTION_OPTIONS, appName, ignoreUndefined: true });
  try {
    await client.connect();
    await client.db('admin').command({ ping: 1 });
    return client;
  } catch (error) {
    await client.close().catch(() => undefined);
    throw translateConnectError(client, error);
  }
}

function createClient(url: string, options: MongoClientOptions): MongoClient {
  try {
    return new MongoClient(url, options);
  } catch (error) {
    // Of what the driver says only the names of options are sure to hold no password.
    const unknown = error instanceof MongoParseError ? /^options? ([\w, ]+) (?:is|are) not supported$/.exec(error.message)?.[1] : undefined;
    throw invalidUrl(unknown === undefined ? 'is not a URL of MongoDB' : `has options that MongoDB does not know (${unknown})`);
  }
}

function translateConnectError({ options }: MongoClient, error: unknown): unknown {
  const hosts = options.srvHost ?? options.hosts.map((host) => host.toString()).join(',');
  if (isAuthenticationError(error) || isAuthenticationError(findServerError(error))) {
    const who =
      options.credentials === undefined
        ? 'a client that does not say who it is'
        : `the user ${options.credentials.username}, or its password`;
    const message = `the database at ${hosts} refuses ${who}; users are looked for in the database ${options.credentials?.source ?? 'admin'} (authSource)`;
    return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'STORE_REFUSED' }, cause: error });
  }
  const explained = translateError('store', error);
  if (!(explained instanceof ServiceError) || (explained.code !== 'UNAVAILABLE' && explained.code !== 'DEADLINE_EXCEEDED'))
    return explained;
  return new ServiceError('UNAVAILABLE', `the database at ${hosts} cannot be reached`, { cause: error });
}

/** What the driver met when it looked for a server to use. */
function findServerError(error: unknown): unknown {
  const reason = (error as { reason?: { servers?: Map<string, { error?: unknown }> } }).reason;
  return [...(reason?.servers?.values() ?? [])].map((server) => server.error).find((one) => one !== undefined && one !== null);
}
