import { Scope, type Sections } from '@switchyard/contracts';
import { checkToken, hashToken, MIN_OPERATOR_TOKEN } from '@switchyard/security';
import { readSecret, StartError, type Origin, type Variables } from '@switchyard/service-kit';
import { contradiction, EVERYTHING, grantOf, type Granted } from './grant-rules.ts';

/** A token that the operator declares in the environment or in a file. */
export type Declaration = Granted & {
  id: string;
  hash: string;
  /** The variable, or the setting and its file, as text for operators. */
  place: string;
  /** Whether the declaration names no id. An existing token with the same secret then keeps its id. */
  anyId: boolean;
};

/** The reserved id of the token that `SWITCHYARD_TOKEN` declares. */
export const ENVIRONMENT_TOKEN = 'env';

const VARIABLE = 'SWITCHYARD_TOKEN';
const KEY = 'gateway.tokens';
type Entry = Sections['gateway']['tokens'][number];

export interface DeclarationsGiven {
  env: Variables;
  entries: readonly Entry[];
  origin: Origin;
}

/** Reads all declared tokens. An unusable declaration stops the start with a message that never contains the secret. */
export async function readDeclarations({ env, entries, origin }: DeclarationsGiven): Promise<Declaration[]> {
  const place = placeOf(origin);
  const declared = [...(await fromEnvironment(env)), ...(await Promise.all(entries.map((entry) => fromEntry(entry, place, env))))];
  for (const [at, { id, hash }] of declared.entries()) {
    const other = declared.slice(0, at).find((earlier) => earlier.id === id || earlier.hash === hash);
    if (other?.id === id) throw new StartError(`The token "${id}" is declared twice (${place}). Remove one declaration.`);
    if (other) throw new StartError(`The tokens "${other.id}" and "${id}" are declared with the same secret. Give each token its own secret.`);
  }
  return declared;
}

async function fromEnvironment(env: Variables): Promise<Declaration[]> {
  const secret = await readSecret(env, VARIABLE);
  if (secret === undefined) return [];
  const place = env[`${VARIABLE}_FILE`] ? `${VARIABLE}_FILE` : VARIABLE;
  const hash = hashOf(secret, `the token of ${place}`);
  return [{ id: ENVIRONMENT_TOKEN, hash, ...EVERYTHING, place, anyId: true }];
}

/** The secret is in the entry itself or in the variable that it references. */
async function fromEntry({ id, secret, ...entry }: Entry, place: string, env: Variables): Promise<Declaration> {
  const variable = typeof secret === 'object' && secret.source === 'env' ? secret.id : undefined;
  const value = variable === undefined ? secret : await readSecret(env, variable);
  if (typeof value !== 'string') {
    throw new StartError(`${KEY}: the token "${id}" has no secret. Add one, or reference a variable that contains it.`);
  }
  const where = variable === undefined ? place : `${place}, with its secret in ${variable}`;
  const hash = hashOf(value, `the token "${id}" of ${where}`);
  const granted = grantedBy(entry);
  const wrong = contradiction(granted);
  if (wrong !== undefined) throw new StartError(`${KEY}: the token "${id}": ${wrong}.`);
  return { id, hash, ...granted, place: where, anyId: false };
}

function grantedBy({ scopes, sessions, lenient, budgets, agents, expiresAt, mcpClient }: Omit<Entry, 'id' | 'secret'>): Granted {
  const ends = expiresAt === undefined ? undefined : Date.parse(expiresAt);
  return grantOf({ scopes: scopes.map((scope) => Scope.parse(scope)), sessions, lenient, budgets, agents, expiresAt: ends, mcpClient });
}

function hashOf(secret: string, what: string): string {
  if (secret.length < MIN_OPERATOR_TOKEN) throw new StartError(`${what} needs at least ${MIN_OPERATOR_TOKEN} characters.`);
  if (checkToken(secret) === 'malformed') throw new StartError(`${what} looks like a Switchyard token, but its checksum is wrong. It may be mistyped or cut off.`);
  return hashToken(secret);
}

function placeOf(origin: Origin): string {
  switch (origin.layer) {
    case 'environment':
      return origin.variable;
    case 'file':
      return `${KEY} in ${origin.file}`;
    default:
      return KEY;
  }
}
