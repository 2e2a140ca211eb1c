import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '@switchyard/contracts';
import { StartError } from '@switchyard/service-kit';
import type { Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { isLive, type LiveToken, type TokenData, type TokenDocument } from '../documents/collections.ts';
import type { Declaration } from './token-declarations.ts';
import { tombstone } from './revoke-token.ts';
import { makeToken } from './insert-token.ts';
import { grantOf, unsaid, type Granted } from './grant-rules.ts';

/** `createdBy` of a declared token. Contains a space, so that no client id equals it. */
const OPERATOR = 'the operator';
/** `createdBy` in documents of earlier versions, for declared tokens and for the token of the first start. */
const FORMERLY = 'configuration';
const PAGE = 500;
const MAX_ATTEMPTS = 5;

export interface DeclareGiven extends TokenData {
  store: Pick<Store, 'now'>;
  tenant: string;
  log: Pick<Logger, 'audit'>;
}

type Stored = TokenDocument & { tenant: string };

/** A declaration, the id it is stored under, and the token that it replaces. */
interface Placed {
  declaration: Declaration;
  id: string;
  instead?: Stored;
}

/**
 * Applies the declarations at each start. Tokens that are no longer declared are revoked, in every tenant. Minted tokens are never
 * replaced, and revoked secrets are rejected. All checks run before the first write.
 */
export async function declareTokens(given: DeclareGiven, declarations: readonly Declaration[]): Promise<void> {
  const placed: Placed[] = [];
  for (const declaration of declarations) placed.push(await place(given, declaration));
  const kept = new Set(placed.map(({ id }) => id));
  const gone = (await everyDeclared(given)).filter(({ tenant, id }) => tenant !== given.tenant || !kept.has(id));
  for (const token of [...gone, ...placed.flatMap(({ instead }) => instead ?? [])]) await withdraw(given, token);
  for (const one of placed) await putInForce(given, one);
}

async function place({ tokens, spent, tenant }: DeclareGiven, declaration: Declaration): Promise<Placed> {
  const { id, hash, place: where, anyId } = declaration;
  const [holder] = (await tokens.system().find({ hash }, { limit: 1 })).items;
  const [used] = holder ? [] : (await spent.system().find({ hash }, { limit: 1 })).items;
  if (used) throw new StartError(`The secret in ${where} was revoked or rotated away (as "${used.id}"). Choose another secret.`);
  const own = holder?.tenant === tenant;
  if (anyId && own && holder.id !== id && sameGrant(grantOf(holder), declaration)) return { declaration, id: holder.id };
  if (holder && !(own && holder.id === id)) {
    if (!isOperators(holder))
      throw new StartError(`The secret in ${where} belongs to the minted token "${holder.id}". Choose another secret.`);
    refuseMinted(await tokens.for({ tenant }).get(id), declaration);
    return { declaration, id, ...(holder.declared === undefined ? { instead: holder } : {}) };
  }
  refuseMinted(await tokens.for({ tenant }).get(id), declaration);
  return { declaration, id };
}

/** Replacing a minted token would cut off its client and let the declared client act in its name. */
function refuseMinted(present: TokenDocument | null, declaration: Declaration): void {
  if (!isLive(present) || isOperators(present)) return;
  if (present.hash === declaration.hash && sameGrant(grantOf(present), declaration)) return;
  throw new StartError(
    `${declaration.place} declares the token "${present.id}", which was minted by ${present.createdBy}. Choose another id, or revoke that token first.`,
  );
}

function isOperators({ createdBy }: TokenDocument): boolean {
  return createdBy === OPERATOR || createdBy === FORMERLY;
}

function sameGrant(one: Granted, other: Granted): boolean {
  const grant = ({ scopes, sessions, lenient, budgets, agents, expiresAt, mcpClient }: Granted): unknown => [
    [scopes.toSorted(), sessions, lenient],
    [budgets, agents, expiresAt, mcpClient],
  ];
  return isDeepStrictEqual(grant(one), grant(other));
}

async function everyDeclared({ tokens }: DeclareGiven): Promise<Stored[]> {
  const declared: Stored[] = [];
  let cursor: string | undefined;
  do {
    const page = await tokens.system().find({ declared: { exists: true } }, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    declared.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return declared;
}

/** A minted token that was also declared becomes an ordinary minted token again. Every other token is revoked. */
async function withdraw({ tokens, store, log }: DeclareGiven, { tenant, id, ver, ...token }: Stored): Promise<void> {
  if (!isLive({ id, ver, ...token })) return;
  const mine = tokens.for({ tenant });
  const { set, inc, unset } = tombstone(store.now());
  const changed = isOperators({ id, ver, ...token })
    ? await mine.update({ id, ver }, { set: { ...set, withdrawnHash: token.hash }, inc, unset })
    : await mine.update({ id, ver }, { unset: ['declared'] });
  if (changed) log.audit({ client: OPERATOR, tenant, tokenId: id, ended: !isLive(changed) }, 'a token is no longer declared');
}

/** If several replicas start at once, each finds the writes of the others and stops. */
async function putInForce(given: DeclareGiven, { declaration, id }: Placed): Promise<void> {
  const { id: _id, anyId: _anyId, place: declared, ...granted } = declaration;
  const { scopes, sessions, lenient } = granted;
  const wanted = { ...granted, declared };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const present = await given.tokens.for(given).get(id);
    if (isLive(present) && agrees(present, wanted)) return;
    refuseMinted(present, declaration);
    if (await write(given, { id, present, wanted })) {
      given.log.audit({ client: OPERATOR, tenant: given.tenant, tokenId: id, scopes, sessions, lenient, declared }, 'a token is declared');
      return;
    }
  }
  throw new ServiceError('ABORTED', `The token ${id} is being changed by other replicas.`);
}

type Wanted = Granted & { hash: string; declared: string };

function agrees(token: LiveToken, wanted: Wanted): boolean {
  return isDeepStrictEqual({ hash: token.hash, ...grantOf(token), declared: token.declared }, wanted);
}

interface Write {
  id: string;
  present: TokenDocument | null;
  wanted: Wanted;
}

function write({ tokens, store, tenant }: DeclareGiven, { id, present, wanted }: Write): Promise<TokenDocument | null> {
  const mine = tokens.for({ tenant });
  const returns = present?.withdrawnHash === wanted.hash; // the same secret is declared again: the same client returns
  if (present === null || !(isLive(present) || returns)) return makeToken(mine, { id, ...wanted, createdBy: OPERATOR }, store.now());
  const createdBy = isOperators(present) ? OPERATOR : present.createdBy;
  return mine.update(
    { id, ver: present.ver },
    {
      set: { ...wanted, createdBy },
      inc: { ver: 1 },
      unset: ['withdrawnHash', 'endedAt', 'leaving', 'leavingSince', ...unsaid(wanted)],
    },
  );
}
