import { readFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { Failure, wrongUsage } from '../output/failure.ts';
import { self } from './installation.ts';

const CERT = 'SWITCHYARD_CLIENT_CERT';
const KEY = 'SWITCHYARD_CLIENT_KEY';

type Variables = Readonly<Record<string, string | undefined>>;

/** Configures a TLS client certificate for all connections from the environment. Does nothing if the variables are not set. */
export async function presentCertificate(env: Variables = process.env): Promise<void> {
  const [certPath, keyPath] = [env[CERT] || undefined, env[KEY] || undefined];
  if (certPath === undefined && keyPath === undefined) return;
  if (certPath === undefined || keyPath === undefined) {
    const [set, missing] = certPath === undefined ? [KEY, CERT] : [CERT, KEY];
    throw wrongUsage(`${set} is set, but ${missing} is not. A client certificate needs both, each the path of a PEM file.`, `unset ${set}`);
  }
  const [cert, key] = [readPem(CERT, certPath), readPem(KEY, keyPath)];
  refuseWrong(cert, certPath);
  const { Agent, setGlobalDispatcher } = await import('undici');
  setGlobalDispatcher(new Agent({ connect: { cert, key } }));
}

function readPem(variable: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new Failure(`${variable} names ${path}, which cannot be read.`, `unset ${variable}`);
  }
}

function refuseWrong(cert: string, path: string): void {
  let until: Date;
  try {
    until = new Date(new X509Certificate(cert).validTo);
  } catch {
    throw new Failure(`${CERT} names ${path}, which is not a PEM certificate.`, `unset ${CERT}`);
  }
  if (until.getTime() < Date.now()) throw new Failure(`The certificate in ${path} expired on ${until.toISOString()}.`, `${self()} doctor`);
}
