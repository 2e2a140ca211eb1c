import { openBlobStore, serveBlobs, type BlobStore } from '@switchyard/blob';
import { ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { BlobAccess } from './blob-access.ts';
import { StartError } from './start-error.ts';

/** The blob store of a process. */
export interface ProcessBlobs extends AsyncDisposable {
  /** Opened when it is first asked for. */
  store(): Promise<BlobStore>;
  /** Where it is served to other processes. */
  readonly port: number | undefined;
}

/** Opens nothing until it is needed, unless the process serves its store to others. */
export async function openBlobs(access: BlobAccess, log: Logger): Promise<ProcessBlobs> {
  await using opening = new AsyncDisposableStack();
  let opened: Promise<BlobStore> | undefined;
  opening.defer(async () => (await opened?.catch(() => undefined))?.close());
  const store = (): Promise<BlobStore> => {
    const again = (): void => void (opened = undefined);
    if (opened === undefined) (opened = open(access, log)).catch(again);
    return opened as Promise<BlobStore>;
  };
  const port = access.port === undefined ? undefined : opening.use(await serve({ ...access, port: access.port }, await store(), log)).port;
  const owned = opening.move();
  return { store, port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
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
    return await serveBlobs({
      store,
      host,
      port,
      token,
      log: log.child({ module: 'blobs' }),
      ...(pair === undefined ? {} : { tls: pair }),
    });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new StartError(`SWITCHYARD_BLOB_PORT: port ${port} on ${host} cannot be had (${code ?? 'unknown error'}); 0 takes a free one.`, {
      cause,
    });
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
