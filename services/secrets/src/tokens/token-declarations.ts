import { Scope, type Sections } from '@switchyard/contracts';
import { checkToken, hashToken, MIN_OPERATOR_TOKEN } from '@switchyard/security';
import { readSecret, StartError, type Origin, type Variables } from '@switchyard/service-kit';
import { findContradiction, FULL_GRANT, readGrant, type TokenGrant } from './grant-rules.ts';

/** A token that the operator declares in the environment or in a file. */
export type Declaration = TokenGrant & {
  id: string;
  hash: string;
  /** The variable, or the setting and its file, as text for operators. */
  source: string;
  /** Whether the declaration names no id. An existing token with the same secret then keeps its id. */
  hasDefaultId: boolean;
};

/** The reserved id of the token that `SWITCHYARD_TOKEN` declares. */
export const ENVIRONMENT_TOKEN = 'env';

const VARIABLE = 'SWITCHYARD_TOKEN';
const KEY = 'gateway.tokens';
type Entry = Sections['gateway']['tokens'][number];

export interface ReadDeclarationsOptions {
  env: Variables;
  entries: readonly Entry[];
  origin: Origin;
}

/** Reads all declared tokens. An unusable declaration stops the start with a message that never contains the secret. */
export async function readDeclarations({ env, entries, origin }: ReadDeclarationsOptions): Promise<Declaration[]> {
  const source = describeOrigin(origin);
  const declared = [...(await readEnvironmentToken(env)), ...(await Promise.all(entries.map((entry) => readEntry(entry, source, env))))];
  for (const [at, { id, hash }] of declared.entries()) {
    const other = declared.slice(0, at).find((earlier) => earlier.id === id || earlier.hash === hash);
    if (other?.id === id) throw new StartError(`The token "${id}" is declared twice (${source}). Remove one declaration.`);
    if (other)
      throw new StartError(`The tokens "${other.id}" and "${id}" are declared with the same secret. Give each token its own secret.`);
  }
  return declared;
}

async function readEnvironmentToken(env: Variables): Promise<Declaration[]> {
  const secret = await readSecret(env, VARIABLE);
  if (secret === undefined) return [];
  const source = env[`${VARIABLE}_FILE`] ? `${VARIABLE}_FILE` : VARIABLE;
  const hash = hashSecret(secret, `the token of ${source}`);
  return [{ id: ENVIRONMENT_TOKEN, hash, ...FULL_GRANT, source, hasDefaultId: true }];
}

/** The secret is in the entry itself or in the variable that it references. */
async function readEntry({ id, secret, ...entry }: Entry, origin: string, env: Variables): Promise<Declaration> {
  const variable = typeof secret === 'object' && secret.source === 'env' ? secret.id : undefined;
  const value = variable === undefined ? secret : await readSecret(env, variable);
  if (typeof value !== 'string') {
    throw new StartError(`${KEY}: the token "${id}" has no secret. Add one, or reference a variable that contains it.`);
  }
  const source = variable === undefined ? origin : `${origin}, with its secret in ${variable}`;
  const hash = hashSecret(value, `the token "${id}" of ${source}`);
  const grant = parseGrant(entry);
  const problem = findContradiction(grant);
  if (problem !== undefined) throw new StartError(`${KEY}: the token "${id}": ${problem}.`);
  return { id, hash, ...grant, source, hasDefaultId: false };
}

function parseGrant({ scopes, sessions, lenient, budgets, agents, expiresAt, mcpClient }: Omit<Entry, 'id' | 'secret'>): TokenGrant {
  const expiry = expiresAt === undefined ? undefined : Date.parse(expiresAt);
  return readGrant({ scopes: scopes.map((scope) => Scope.parse(scope)), sessions, lenient, budgets, agents, expiresAt: expiry, mcpClient });
}

function hashSecret(secret: string, description: string): string {
  if (secret.length < MIN_OPERATOR_TOKEN) throw new StartError(`${description} needs at least ${MIN_OPERATOR_TOKEN} characters.`);
  if (checkToken(secret) === 'malformed')
    throw new StartError(`${description} looks like a Switchyard token, but its checksum is wrong. It may be mistyped or cut off.`);
  return hashToken(secret);
}

function describeOrigin(origin: Origin): string {
  switch (origin.layer) {
    case 'environment':
      return origin.variable;
    case 'file':
      return `${KEY} in ${origin.file}`;
    default:
      return KEY;
  }
}
