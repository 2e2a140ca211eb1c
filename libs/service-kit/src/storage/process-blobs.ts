import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { mintBlobId, openBlobStore, serveBlobs, type BlobStore } from '@switchyard/blob';
import { ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { BlobAccess } from '../variables/blob-access.ts';
import { StartError } from '../variables/start-error.ts';

/** The blob store of a process. */
export interface ProcessBlobs extends AsyncDisposable {
  /** Opened when it is first asked for. */
  store(): Promise<BlobStore>;
  /** Where it is served to other processes. */
  readonly port: number | undefined;
}

export interface OpenBlobsOptions {
  log: Logger;
  /** Waits for what is down, until it is told that nobody waits any more. */
  reach: (open: () => Promise<BlobStore>, signal?: AbortSignal) => Promise<BlobStore>;
  /** After so long it is looked whether there are files from before, which nobody may ask for again. */
  lookMs?: number;
}

const LOOK_MS = 60_000;
/** A store in another process has so long to answer before the start goes on without it. */
const FIRST_LOOK_MS = 1_000;

/**
 * Opens nothing until it is needed, unless the store is shared with other processes. One that this process serves is waited for while
 * it is down. One in another process is not: it is looked for until it is there, and whoever needs it before is told that it is away.
 */
export async function openBlobs(access: BlobAccess, { log, reach, lookMs = LOOK_MS }: OpenBlobsOptions): Promise<ProcessBlobs> {
  await using opening = new AsyncDisposableStack();
  let opened: Promise<BlobStore> | undefined;
  opening.defer(async () => (await opened?.catch(() => undefined))?.close());

  function store(): Promise<BlobStore> {
    if (opened !== undefined) return opened;
    const now = isRemote(access) ? openRemote(access, log) : open(access, log);
    now.catch(() => (opened = undefined));
    return (opened = now);
  }

  // An open store sweeps.
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

interface Looking {
  log: Logger;
  reach: (open: () => Promise<BlobStore>) => Promise<BlobStore>;
  /** Aborts when the process needs no store any more. */
  signal: AbortSignal;
}

/** Resolves as soon as the store is there or known to be away, and goes on looking. What no waiting mends ends the start, if it is known by then. */
async function lookFor(store: () => Promise<BlobStore>, { log, reach, signal }: Looking): Promise<void> {
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
    if (!signal.aborted) log.error({ err }, 'the blob store cannot be used, and calls with large payloads fail');
  });
  await Promise.race([found, away.promise, sleep(FIRST_LOOK_MS, undefined, { ref: false })]);
}

function hasFiles({ url }: BlobAccess): boolean {
  return url.startsWith('file:') && existsSync(url.slice('file:'.length));
}

function isRemote({ url }: BlobAccess): boolean {
  return url.startsWith('grpc');
}

/** Asks for a blob that nobody has, so that a store that is away or does not know our token is found out now and not in a call. */
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
    throw new StartError(`SWITCHYARD_BLOB_TOKEN is not the one that the blob store at ${host} asks for.`, { cause: failure });
  throw new ServiceError('UNAVAILABLE', `the blob store at ${host} does not answer`, { cause: failure });
}

async function open({ url, token, tls, maxBytes }: BlobAccess, log: Logger): Promise<BlobStore> {
  try {
    return await openBlobStore(url, {
      log: log.child({ module: 'blobs' }),
      ...(maxBytes === undefined ? {} : { limits: { maxBytes } }),
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
    log.warn({ host }, 'blobs and their token cross the network in the clear; set SWITCHYARD_BLOB_TLS_CERT');
  try {
    const child = log.child({ module: 'blobs' });
    const server = await serveBlobs({ store, host, port, token, log: child, ...(pair === undefined ? {} : { tls: pair }) });
    log.info({ host, port: server.port }, 'serving blobs');
    return server;
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
    const sentence = code.startsWith('ERR_')
      ? `SWITCHYARD_BLOB_TLS_CERT and SWITCHYARD_BLOB_TLS_KEY cannot be used (${code}).`
      : `SWITCHYARD_BLOB_PORT: port ${port} on ${host} cannot be had (${code}); 0 takes a free one.`;
    throw new StartError(sentence, { cause });
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
