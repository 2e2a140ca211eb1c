import { CERTIFICATE_REFUSED, type BusCredentials } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { readNamedFile, readSecret, type Variables } from './secret-variables.ts';
import { readTls } from './tls-variables.ts';
import { StartError } from './start-error.ts';

/** The bus of a process and its credentials. */
export interface BusAccess {
  url: string;
  credentials: BusCredentials;
  /** The variables with the credentials, for error messages. */
  from: readonly string[];
}

const USER = 'SWITCHYARD_BUS_USER';
const PASSWORD = 'SWITCHYARD_BUS_PASSWORD';
const TOKEN = 'SWITCHYARD_BUS_TOKEN';
const CREDENTIALS = 'SWITCHYARD_BUS_CREDENTIALS';
const CA = 'SWITCHYARD_BUS_TLS_CA';
const CERT = 'SWITCHYARD_BUS_TLS_CERT';
const KEY = 'SWITCHYARD_BUS_TLS_KEY';
const PAIR = `${CERT} with ${KEY}`;

const NONE = 'none';

/** Help texts. */
export const BUS_VARIABLE_HELP: Readonly<Record<string, { preset: string; means: string }>> = {
  [USER]: { preset: NONE, means: 'user on the bus; user and password may be in the address instead' },
  [PASSWORD]: { preset: NONE, means: 'password of the user' },
  [TOKEN]: { preset: NONE, means: 'token for the bus, instead of a user' },
  [CREDENTIALS]: { preset: NONE, means: 'credentials file for the bus, instead of a user' },
  [CA]: { preset: NONE, means: 'PEM file: certificate authority of the bus; TLS is then required' },
  [CERT]: { preset: NONE, means: 'PEM file: client certificate for the bus' },
  [KEY]: { preset: NONE, means: 'PEM file: key of that certificate' },
};

/** Reads the bus credentials. Throws if several kinds are set. No message contains a secret. */
export async function readBusAccess(url: string, env: Variables): Promise<BusAccess> {
  const [user, password, token, credentials] = await Promise.all([
    readSecret(env, USER),
    readSecret(env, PASSWORD),
    readSecret(env, TOKEN),
    readNamedFile(env, CREDENTIALS),
  ]);
  if ((user === undefined) !== (password === undefined)) throw new StartError(`${USER} and ${PASSWORD} must be set together.`);
  const ways = [
    ...(hasIdentity(url) ? ['SWITCHYARD_BUS'] : []),
    ...(user === undefined ? [] : [`${USER} with ${PASSWORD}`]),
    ...(token === undefined ? [] : [TOKEN]),
    ...(credentials === undefined ? [] : [CREDENTIALS]),
  ];
  if (ways.length > 1) throw new StartError(`${ways.join(' and ')} are different credentials for the bus. Set only one of them.`);
  const texts = await readTls(env, { ca: CA, cert: CERT, key: KEY });
  const from = [...ways, ...(texts.ca === undefined ? [] : [CA]), ...(texts.cert === undefined ? [] : [PAIR])];
  const tls = Object.keys(texts).length === 0 ? undefined : texts;
  return { url, credentials: { user, password, token, credentials, tls }, from };
}

/** Adds the remedy to an authentication error of the bus. */
export function explainRefusal(error: unknown, { from }: BusAccess): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'UNAUTHENTICATED') return error;
  const advice = error.details['reason'] === CERTIFICATE_REFUSED ? adviseOnCertificate(from) : advise(from);
  return new StartError(`${error.message} ${advice}`, { cause: error });
}

function advise(from: readonly string[]): string {
  if (from.length > 0) return `Check ${from.join(' and ')}.`;
  return `Set credentials: ${USER} with ${PASSWORD}, ${TOKEN}, ${CREDENTIALS}, or ${PAIR}.`;
}

function adviseOnCertificate(from: readonly string[]): string {
  return from.includes(PAIR) ? `Check ${PAIR}.` : `Set ${PAIR}.`;
}

function hasIdentity(url: string): boolean {
  return url !== 'memory:' && new URL(url.split(',')[0] ?? '').username !== '';
}
