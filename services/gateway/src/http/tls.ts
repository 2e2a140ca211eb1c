import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { Server, ServerOptions } from 'node:https';
import type { Sections } from '@switchyard/contracts';
import { StartError } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';

export type TlsSettings = NonNullable<Sections['gateway']['tls']>;

/** Interval at which the files are polled. Platforms replace mounted secrets by renaming, which file watchers do not report everywhere. */
const POLL_INTERVAL_MS = 5_000;
/** Bounds a handshake, which holds a socket and costs more CPU than most requests. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
const DAY_MS = 86_400_000;
const EXPIRY_WARNING_DAYS = 7;

/** The certificate and key of a listener, and the authority of client certificates. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  /** Expiry of the certificate, in epoch milliseconds. */
  readonly expiresAt: number;
}

/** Reads and validates all three files. Throws a `StartError` that names the setting and the problem. */
export async function readTlsMaterial({ certPath, keyPath, caPath }: TlsSettings, now = Date.now()): Promise<TlsMaterial> {
  // Sequentially, so that the error always names the first unreadable file.
  const cert = await readPem('certPath', certPath);
  const key = await readPem('keyPath', keyPath);
  const ca = await readPem('caPath', caPath);
  const certificate = parse('certPath', certPath, 'a certificate in PEM', () => new X509Certificate(cert));
  const secret: KeyObject = parse('keyPath', keyPath, 'a private key in PEM without a passphrase', () => createPrivateKey(key));
  parse('caPath', caPath, 'certificates in PEM', () => new X509Certificate(ca));
  if (!certificate.checkPrivateKey(secret)) {
    throw new StartError(`gateway.tls: the key in ${keyPath} does not match the certificate in ${certPath}.`);
  }
  const [validFrom, validTo] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  if (now < validFrom)
    throw new StartError(`gateway.tls.certPath: the certificate in ${certPath} is not valid before ${toIso(validFrom)}.`);
  if (now >= validTo) throw new StartError(`gateway.tls.certPath: the certificate in ${certPath} expired at ${toIso(validTo)}; renew it.`);
  return { cert, key, ca, expiresAt: validTo };
}

async function readPem(name: keyof TlsSettings, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    throw new StartError(`gateway.tls.${name}: ${path} cannot be read (${code}).`, { cause });
  }
}

function parse<T>(name: keyof TlsSettings, path: string, expected: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new StartError(`gateway.tls.${name}: expected ${expected} in ${path}.`, { cause });
  }
}

function toIso(time: number): string {
  return new Date(time).toISOString();
}

/** The options of the TLS listener. With `requireClientCert` a client needs a certificate of the authority. */
export function createTlsOptions({ cert, key, ca }: TlsMaterial, requireClientCert: boolean): ServerOptions {
  const clients = requireClientCert ? { requestCert: true, rejectUnauthorized: true } : { requestCert: false };
  return { cert, key, ca, ...clients, minVersion: 'TLSv1.2', handshakeTimeout: HANDSHAKE_TIMEOUT_MS, ALPNProtocols: ['http/1.1'] };
}

export interface TlsReloader extends Disposable {
  /** Polls the files now. Resolves after changed files are applied or their error is logged. */
  poll(): Promise<void>;
}

interface TlsReloaderOptions {
  server: Pick<Server, 'setSecureContext'>;
  tls: TlsSettings;
  first: TlsMaterial;
  log: Logger;
}

/**
 * Applies changed files to new connections, so that certificates are renewed without a restart. Unusable files are logged once, and the
 * previous certificates stay in use.
 */
export function startTlsReloader({ server, tls, first, log }: TlsReloaderOptions): TlsReloader {
  let current = first;
  let lastFingerprint: string | undefined;
  let polling: Promise<void> | undefined;
  let warned: number | undefined;

  async function poll(): Promise<void> {
    const now = await fingerprint(tls);
    if (now !== lastFingerprint) await reload(now);
    warnBeforeExpiry();
  }

  async function reload(now: string): Promise<void> {
    try {
      const next = await readTlsMaterial(tls);
      lastFingerprint = now;
      if (next.cert === current.cert && next.key === current.key && next.ca === current.ca) return;
      server.setSecureContext(createTlsOptions(next, tls.requireClientCert));
      current = next;
      log.info({ expiresAt: toIso(next.expiresAt) }, 'reloaded the TLS certificates');
    } catch (err) {
      lastFingerprint = now;
      log.error({ err }, 'failed to reload the TLS certificates; the previous ones stay in use');
    }
  }

  function warnBeforeExpiry(): void {
    const days = Math.floor((current.expiresAt - Date.now()) / DAY_MS);
    if (days >= EXPIRY_WARNING_DAYS || days === warned) return;
    warned = days;
    log.warn({ expiresAt: toIso(current.expiresAt), days }, 'the TLS certificate expires soon');
  }

  const pollOnce = (): Promise<void> => (polling ??= poll().finally(() => (polling = undefined)));
  const timer = setInterval(() => void pollOnce(), POLL_INTERVAL_MS).unref();
  void pollOnce();
  return { poll: pollOnce, [Symbol.dispose]: () => clearInterval(timer) };
}

/** Changes when one of the files is replaced. */
async function fingerprint({ certPath, keyPath, caPath }: TlsSettings): Promise<string> {
  const states = await Promise.all([certPath, keyPath, caPath].map((path) => stat(path).catch(() => undefined)));
  return states.map((state) => (state ? `${state.ino} ${state.size} ${state.mtimeMs}` : 'gone')).join('\n');
}
