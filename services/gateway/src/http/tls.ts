import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { Server, ServerOptions } from 'node:https';
import type { Sections } from '@switchyard/contracts';
import { StartError } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';

export type TlsSettings = NonNullable<Sections['gateway']['tls']>;

/** How often the files are looked at. Secrets that a platform mounts are replaced by renaming, which nothing announces everywhere. */
const LOOK_MS = 5_000;
/** A handshake holds a socket and costs more than most requests. */
const HANDSHAKE_MS = 10_000;
const DAY_MS = 86_400_000;
const SOON_DAYS = 7;

/** What a listener presents, and whose certificates it accepts. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  /** Of the certificate: epoch milliseconds. */
  readonly expiresAt: number;
}

/** Reads and checks all three files. Throws a `StartError` that names the setting, and what is wrong with what it names. */
export async function readTlsMaterial({ certPath, keyPath, caPath }: TlsSettings, now = Date.now()): Promise<TlsMaterial> {
  // One after the other: of several that cannot be read, the first is named each time.
  const cert = await readPem('certPath', certPath);
  const key = await readPem('keyPath', keyPath);
  const ca = await readPem('caPath', caPath);
  const certificate = parse('certPath', certPath, 'a certificate in PEM', () => new X509Certificate(cert));
  const secret: KeyObject = parse('keyPath', keyPath, 'a private key in PEM without a passphrase', () => createPrivateKey(key));
  parse('caPath', caPath, 'certificates in PEM', () => new X509Certificate(ca));
  if (!certificate.checkPrivateKey(secret)) {
    throw new StartError(`gateway.tls: the key in ${keyPath} is not the one of the certificate in ${certPath}.`);
  }
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  if (now < from) throw new StartError(`gateway.tls.certPath: the certificate in ${certPath} is not valid before ${iso(from)}.`);
  if (now >= to) throw new StartError(`gateway.tls.certPath: the certificate in ${certPath} expired at ${iso(to)}; put a new one there.`);
  return { cert, key, ca, expiresAt: to };
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
    throw new StartError(`gateway.tls.${name}: expected ${expected} in ${path}, which holds something else.`, { cause });
  }
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

/** What the listener is made with. Where certificates are required, a client without one of that authority gets no connection. */
export function tlsOptions({ cert, key, ca }: TlsMaterial, requireClientCert: boolean): ServerOptions {
  const clients = requireClientCert ? { requestCert: true, rejectUnauthorized: true } : { requestCert: false };
  return { cert, key, ca, ...clients, minVersion: 'TLSv1.2', handshakeTimeout: HANDSHAKE_MS, ALPNProtocols: ['http/1.1'] };
}

export interface Following extends Disposable {
  /** Looks now. Resolves when what was found is in force, or is said to be wrong. */
  look(): Promise<void>;
}

interface Followed {
  server: Pick<Server, 'setSecureContext'>;
  tls: TlsSettings;
  first: TlsMaterial;
  log: Logger;
}

/**
 * Files that change are in force for the next connection, once they are whole: certificates are renewed without a restart. What is
 * wrong with new files is logged once, and the old ones stay.
 */
export function followTls({ server, tls, first, log }: Followed): Following {
  let current = first;
  let seen: string | undefined;
  let looking: Promise<void> | undefined;
  let warned: number | undefined;

  async function look(): Promise<void> {
    const now = await fingerprint(tls);
    if (now !== seen) await take(now);
    warnOfEnd();
  }

  async function take(now: string): Promise<void> {
    try {
      const next = await readTlsMaterial(tls);
      seen = now;
      if (next.cert === current.cert && next.key === current.key && next.ca === current.ca) return;
      server.setSecureContext(tlsOptions(next, tls.requireClientCert));
      current = next;
      log.info({ expiresAt: iso(next.expiresAt) }, 'new TLS certificates are in force');
    } catch (err) {
      seen = now;
      log.error({ err }, 'the TLS certificates were changed and cannot be used; the earlier ones stay');
    }
  }

  function warnOfEnd(): void {
    const days = Math.floor((current.expiresAt - Date.now()) / DAY_MS);
    if (days >= SOON_DAYS || days === warned) return;
    warned = days;
    log.warn({ expiresAt: iso(current.expiresAt), days }, 'the TLS certificate expires soon');
  }

  const lookOnce = (): Promise<void> => (looking ??= look().finally(() => (looking = undefined)));
  const timer = setInterval(() => void lookOnce(), LOOK_MS).unref();
  void lookOnce();
  return { look: lookOnce, [Symbol.dispose]: () => clearInterval(timer) };
}

/** What tells that one of the files is another one. */
async function fingerprint({ certPath, keyPath, caPath }: TlsSettings): Promise<string> {
  const states = await Promise.all([certPath, keyPath, caPath].map((path) => stat(path).catch(() => undefined)));
  return states.map((state) => (state ? `${state.ino} ${state.size} ${state.mtimeMs}` : 'gone')).join('\n');
}
