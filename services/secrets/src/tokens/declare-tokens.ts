import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '@switchyard/contracts';
import { StartError } from '@switchyard/service-kit';
import type { Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { isLive, type LiveToken, type TokenData, type TokenDocument } from '../documents/collections.ts';
import type { Declaration } from './token-declarations.ts';
import { createTombstone } from './revoke-token.ts';
import { insertToken } from './insert-token.ts';
import { readGrant, listUnsetLimits, type TokenGrant } from './grant-rules.ts';

/** `createdBy` of a declared token. Contains a space, so that no client id equals it. */
const OPERATOR = 'the operator';
/** `createdBy` in documents of earlier versions, for declared tokens and for the token of the first start. */
const LEGACY_OPERATOR = 'configuration';
const PAGE_SIZE = 500;
const MAX_ATTEMPTS = 5;

export interface DeclareTokensDeps extends TokenData {
  store: Pick<Store, 'now'>;
  tenant: string;
  log: Pick<Logger, 'audit'>;
}

type StoredToken = TokenDocument & { tenant: string };

/** A declaration, the id it is stored under, and the token that it replaces. */
interface PlacedDeclaration {
  declaration: Declaration;
  id: string;
  replaced?: StoredToken;
}

/**
 * Applies the declarations at each start. Tokens that are no longer declared are revoked, in every tenant. Minted tokens are never
 * replaced, and revoked secrets are rejected. All checks run before the first write.
 */
export async function declareTokens(deps: DeclareTokensDeps, declarations: readonly Declaration[]): Promise<void> {
  const placed: PlacedDeclaration[] = [];
  for (const declaration of declarations) placed.push(await placeDeclaration(deps, declaration));
  const declaredIds = new Set(placed.map(({ id }) => id));
  const undeclared = (await findDeclared(deps)).filter(({ tenant, id }) => tenant !== deps.tenant || !declaredIds.has(id));
  for (const token of [...undeclared, ...placed.flatMap(({ replaced }) => replaced ?? [])]) await withdrawDeclaration(deps, token);
  for (const one of placed) await applyDeclaration(deps, one);
}

async function placeDeclaration(
  { tokens, retiredSecrets, tenant }: DeclareTokensDeps,
  declaration: Declaration,
): Promise<PlacedDeclaration> {
  const { id, hash, source, hasDefaultId } = declaration;
  const [holder] = (await tokens.system().find({ hash }, { limit: 1 })).items;
  const [retired] = holder ? [] : (await retiredSecrets.system().find({ hash }, { limit: 1 })).items;
  if (retired) throw new StartError(`The secret in ${source} was revoked or rotated away (as "${retired.id}"). Choose another secret.`);
  const own = holder?.tenant === tenant;
  if (hasDefaultId && own && holder.id !== id && hasSameGrant(readGrant(holder), declaration)) return { declaration, id: holder.id };
  if (holder && !(own && holder.id === id)) {
    if (!isOperatorToken(holder))
      throw new StartError(`The secret in ${source} belongs to the minted token "${holder.id}". Choose another secret.`);
    rejectMinted(await tokens.for({ tenant }).get(id), declaration);
    return { declaration, id, ...(holder.declared === undefined ? { replaced: holder } : {}) };
  }
  rejectMinted(await tokens.for({ tenant }).get(id), declaration);
  return { declaration, id };
}

/** Replacing a minted token would cut off its client and let the declared client act in its name. */
function rejectMinted(present: TokenDocument | null, declaration: Declaration): void {
  if (!isLive(present) || isOperatorToken(present)) return;
  if (present.hash === declaration.hash && hasSameGrant(readGrant(present), declaration)) return;
  throw new StartError(
    `${declaration.source} declares the token "${present.id}", which was minted by ${present.createdBy}. Choose another id, or revoke that token first.`,
  );
}

function isOperatorToken({ createdBy }: TokenDocument): boolean {
  return createdBy === OPERATOR || createdBy === LEGACY_OPERATOR;
}

function hasSameGrant(one: TokenGrant, other: TokenGrant): boolean {
  const grant = ({ scopes, sessions, lenient, budgets, agents, expiresAt, mcpClient }: TokenGrant): unknown => [
    [scopes.toSorted(), sessions, lenient],
    [budgets, agents, expiresAt, mcpClient],
  ];
  return isDeepStrictEqual(grant(one), grant(other));
}

async function findDeclared({ tokens }: DeclareTokensDeps): Promise<StoredToken[]> {
  const declared: StoredToken[] = [];
  let cursor: string | undefined;
  do {
    const page = await tokens
      .system()
      .find({ declared: { exists: true } }, { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) });
    declared.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return declared;
}

/** A minted token that was also declared becomes an ordinary minted token again. Every other token is revoked. */
async function withdrawDeclaration({ tokens, store, log }: DeclareTokensDeps, { tenant, id, ver, ...token }: StoredToken): Promise<void> {
  if (!isLive({ id, ver, ...token })) return;
  const documents = tokens.for({ tenant });
  const { set, inc, unset } = createTombstone(store.now());
  const changed = isOperatorToken({ id, ver, ...token })
    ? await documents.update({ id, ver }, { set: { ...set, withdrawnHash: token.hash }, inc, unset })
    : await documents.update({ id, ver }, { unset: ['declared'] });
  if (changed) log.audit({ client: OPERATOR, tenant, tokenId: id, ended: !isLive(changed) }, 'a token is no longer declared');
}

/** If several replicas start at once, each finds the writes of the others and stops. */
async function applyDeclaration(deps: DeclareTokensDeps, { declaration, id }: PlacedDeclaration): Promise<void> {
  const { id: _id, hasDefaultId: _anyId, source: declared, ...grant } = declaration;
  const { scopes, sessions, lenient } = grant;
  const declaredToken = { ...grant, declared };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const present = await deps.tokens.for(deps).get(id);
    if (isLive(present) && matchesDeclaration(present, declaredToken)) return;
    rejectMinted(present, declaration);
    if (await writeDeclaration(deps, { id, present, declaredToken })) {
      deps.log.audit({ client: OPERATOR, tenant: deps.tenant, tokenId: id, scopes, sessions, lenient, declared }, 'a token is declared');
      return;
    }
  }
  throw new ServiceError('ABORTED', `The token ${id} is being changed by other replicas.`);
}

type DeclaredToken = TokenGrant & { hash: string; declared: string };

function matchesDeclaration(token: LiveToken, declaredToken: DeclaredToken): boolean {
  return isDeepStrictEqual({ hash: token.hash, ...readGrant(token), declared: token.declared }, declaredToken);
}

interface WriteDeclarationOptions {
  id: string;
  present: TokenDocument | null;
  declaredToken: DeclaredToken;
}

function writeDeclaration(
  { tokens, store, tenant }: DeclareTokensDeps,
  { id, present, declaredToken }: WriteDeclarationOptions,
): Promise<TokenDocument | null> {
  const documents = tokens.for({ tenant });
  const isSameClient = present?.withdrawnHash === declaredToken.hash; // the same secret is declared again: the same client returns
  if (present === null || !(isLive(present) || isSameClient))
    return insertToken(documents, { id, ...declaredToken, createdBy: OPERATOR }, store.now());
  const createdBy = isOperatorToken(present) ? OPERATOR : present.createdBy;
  return documents.update(
    { id, ver: present.ver },
    {
      set: { ...declaredToken, createdBy },
      inc: { ver: 1 },
      unset: ['withdrawnHash', 'endedAt', 'revocation', 'revocationStartedAt', ...listUnsetLimits(declaredToken)],
    },
  );
}
