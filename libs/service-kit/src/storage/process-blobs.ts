import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { mintBlobId, openBlobStore, serveBlobs, type BlobStore } from '@switchyard/blob';
import { ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { BlobAccess } from '../variables/blob-access.ts';
import { StartError } from '../variables/start-error.ts';

/** The blob store of a process. */
export interface ProcessBlobs extends AsyncDisposable {
  /** Opens the store on the first call. */
  store(): Promise<BlobStore>;
  /** Port of the gRPC server for other processes, if any. */
  readonly port: number | undefined;
}

export interface OpenBlobsOptions {
  log: Logger;
  /** Retries until the store is reachable or the signal aborts. */
  reach: (open: () => Promise<BlobStore>, signal?: AbortSignal) => Promise<BlobStore>;
  /** Delay before the store is opened to expire files of earlier runs. */
  lookMs?: number;
}

const POLL_INTERVAL_MS = 60_000;
/** The start waits this long for a store in another process, then continues without it. */
const FIRST_LOOK_MS = 1_000;

/**
 * Opens the blob store on first use, unless other processes share it. If this process serves the store, the start waits until it is
 * reachable. A store in another process is retried in the background; until it is reachable, calls that need it fail.
 */
export async function openBlobs(access: BlobAccess, { log, reach, lookMs = POLL_INTERVAL_MS }: OpenBlobsOptions): Promise<ProcessBlobs> {
  await using opening = new AsyncDisposableStack();
  let opened: Promise<BlobStore> | undefined;
  opening.defer(async () => (await opened?.catch(() => undefined))?.close());

  function store(): Promise<BlobStore> {
    if (opened !== undefined) return opened;
    const now = isRemote(access) ? openRemote(access, log) : open(access, log);
    now.catch(() => (opened = undefined));
    return (opened = now);
  }

  // An open store removes expired blobs.
  const look = setTimeout(() => void (hasFiles(access) && store().catch(() => undefined)), lookMs).unref();
  opening.defer(() => clearTimeout(look));
  if (isRemote(access)) {
    const ending = new AbortController();
    opening.defer(() => ending.abort());
    await lookFor(store, { log, reach: (open) => reach(open, ending.signal), signal: ending.signal });
  }
  const port =
    access.port === undefined ? undefined : opening.use(await serve({ ...access, port: access.port }, await reach(store), log)).port;
  const owned = opening.move();
  return { store, port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

interface BlobProbeOptions {
  log: Logger;
  reach: (open: () => Promise<BlobStore>) => Promise<BlobStore>;
  /** Aborts when the process ends. */
  signal: AbortSignal;
}

/** Resolves when the store is reachable or known to be unreachable, and keeps retrying. Rejects for a configuration error found in time. */
async function lookFor(store: () => Promise<BlobStore>, { log, reach, signal }: BlobProbeOptions): Promise<void> {
  const away = Promise.withResolvers<void>();
  const found = reach(async () => {
    try {
      return await store();
    } catch (error) {
      if (!(error instanceof StartError)) away.resolve();
      throw error;
    }
  });
  found.catch((err: unknown) => {
    if (!signal.aborted) log.error({ err }, 'the blob store is not available; calls with large payloads fail');
  });
  await Promise.race([found, away.promise, sleep(FIRST_LOOK_MS, undefined, { ref: false })]);
}

function hasFiles({ url }: BlobAccess): boolean {
  return url.startsWith('file:') && existsSync(url.slice('file:'.length));
}

function isRemote({ url }: BlobAccess): boolean {
  return url.startsWith('grpc');
}

/** Requests a blob that does not exist, so that an unreachable store or a wrong token is found at the start and not in a call. */
async function openRemote(access: BlobAccess, log: Logger): Promise<BlobStore> {
  const store = await open(access, log);
  const failure = await store
    .for({ tenant: 'nobody' })
    .status(mintBlobId())
    .catch((error: unknown) => error);
  if (failure instanceof ServiceError && failure.code === 'NOT_FOUND') return store;
  await store.close();
  const host = access.url.replace(/^grpcs?:\/\//, '');
  if (failure instanceof ServiceError && failure.code === 'UNAUTHENTICATED')
    throw new StartError(`The blob store at ${host} does not accept SWITCHYARD_BLOB_TOKEN.`, { cause: failure });
  throw new ServiceError('UNAVAILABLE', `the blob store at ${host} does not answer`, { cause: failure });
}

async function open({ url, token, tls, maxBytes, maxKeptBytes }: BlobAccess, log: Logger): Promise<BlobStore> {
  try {
    return await openBlobStore(url, {
      log: log.child({ module: 'blobs' }),
      limits: { ...(maxBytes === undefined ? {} : { maxBytes }), ...(maxKeptBytes === undefined ? {} : { maxKeptBytes }) },
      ...(token === undefined ? {} : { remote: { token, tls } }),
    });
  } catch (cause) {
    if (!(cause instanceof ServiceError) || cause.code !== 'FAILED_PRECONDITION') throw cause;
    throw new StartError(`SWITCHYARD_BLOBS cannot be used: ${cause.message}.`, { cause });
  }
}

async function serve({ host, port, token = '', tls }: BlobAccess & { port: number }, store: BlobStore, log: Logger) {
  const { ca, cert, key } = tls;
  const pair = cert === undefined || key === undefined ? undefined : { cert, key, ...(ca === undefined ? {} : { ca }) };
  if (pair === undefined && !isLoopback(host))
    log.warn({ host }, 'blobs and their token are sent without encryption; set SWITCHYARD_BLOB_TLS_CERT');
  try {
    const child = log.child({ module: 'blobs' });
    const server = await serveBlobs({ store, host, port, token, log: child, ...(pair === undefined ? {} : { tls: pair }) });
    log.info({ host, port: server.port }, 'serving blobs');
    return server;
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
    const sentence = code.startsWith('ERR_')
      ? `SWITCHYARD_BLOB_TLS_CERT and SWITCHYARD_BLOB_TLS_KEY cannot be used (${code}).`
      : `SWITCHYARD_BLOB_PORT: port ${port} on ${host} cannot be opened (${code}); 0 selects a free one.`;
    throw new StartError(sentence, { cause });
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
