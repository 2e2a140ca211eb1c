import { MongoClient, MongoParseError, type MongoClientOptions } from 'mongodb';
import { ServiceError } from '@switchyard/contracts';
import { invalidUrl, type StoreUrl } from './store-url.ts';
import { CONNECTION_OPTIONS } from './closing-connection.ts';
import { translateError, isAuthenticationError } from './errors.ts';

/** Limits every wait of the driver. */
const TIMEOUTS: MongoClientOptions = {
  serverSelectionTimeoutMS: 5_000,
  connectTimeoutMS: 5_000,
  socketTimeoutMS: 12_000,
  waitQueueTimeoutMS: 5_000,
  heartbeatFrequencyMS: 5_000,
};

const POOL: MongoClientOptions = { maxPoolSize: 50, maxConnecting: 4, maxIdleTimeMS: 60_000 };

/** Acknowledge a write when a majority has journaled it, and read such writes only. These options override the URL. */
const WRITE_CONCERN: MongoClientOptions = {
  w: 'majority',
  journal: true,
  wtimeoutMS: 8_000,
  readConcernLevel: 'majority',
  readPreference: 'primary',
  retryWrites: true,
  retryReads: true,
};

/** Connects, or fails UNAVAILABLE if the server may come up later, otherwise FAILED_PRECONDITION. */
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
    // The driver's message may contain the password. Names of options do not.
    const unknown = error instanceof MongoParseError ? /^options? ([\w, ]+) (?:is|are) not supported$/.exec(error.message)?.[1] : undefined;
    throw invalidUrl(unknown === undefined ? 'is not a URL of MongoDB' : `has options that are unknown to MongoDB (${unknown})`);
  }
}

function translateConnectError({ options }: MongoClient, error: unknown): unknown {
  const hosts = options.srvHost ?? options.hosts.map((host) => host.toString()).join(',');
  if (isAuthenticationError(error) || isAuthenticationError(findServerError(error))) {
    const name =
      options.credentials === undefined ? 'a client without credentials' : `the user ${options.credentials.username}, or its password`;
    const message = `the database at ${hosts} rejects ${name}; the user is expected in the database ${options.credentials?.source ?? 'admin'} (authSource)`;
    return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'STORE_REFUSED' }, cause: error });
  }
  const explained = translateError('store', error);
  if (!(explained instanceof ServiceError) || (explained.code !== 'UNAVAILABLE' && explained.code !== 'DEADLINE_EXCEEDED'))
    return explained;
  return new ServiceError('UNAVAILABLE', `the database at ${hosts} cannot be reached`, { cause: error });
}

/** Returns the error of the driver's last attempt to reach a server. */
function findServerError(error: unknown): unknown {
  const reason = (error as { reason?: { servers?: Map<string, { error?: unknown }> } }).reason;
  return [...(reason?.servers?.values() ?? [])].map((server) => server.error).find((one) => one !== undefined && one !== null);
}
