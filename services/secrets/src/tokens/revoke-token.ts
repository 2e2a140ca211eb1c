import { ServiceError } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Change, Documents } from '@switchyard/store';
import { isLive, type LiveToken, type TokenDocument } from '../documents/collections.ts';
import { iterateLiveTokens } from './live-tokens.ts';
import { canCreate, managesTokens } from './grant-rules.ts';

/** A revocation that takes longer has failed, and its mark is ignored. Safety does not depend on this timeout. */
const REVOCATION_TTL_MS = 5_000;

/** The change that turns a token into a tombstone. */
export function createTombstone(now: number) {
  return {
    set: { endedAt: now },
    inc: { ver: 1 },
    unset: ['hash', 'declared', 'expiresAt', 'revocation', 'revocationStartedAt'],
  } satisfies Change<TokenDocument>;
}

interface RevokeTokenOptions {
  now: number;
  alone?: boolean;
}

/**
 * Revokes a token; returns false if it has changed since it was read. A token that manages tokens is revoked only if another live
 * token could create it again. The revocation marks the token, writes to another unmarked token, and then revokes the token if it
 * still has the mark. If two admins revoke each other, one of them finds the other marked and fails. `alone` skips this check for the
 * operator of the installation, who can create tokens in every tenant.
 */
export async function revokeToken(
  documents: Documents<TokenDocument>,
  token: LiveToken,
  { now, alone = false }: RevokeTokenOptions,
): Promise<boolean> {
  const { id, ver } = token;
  if (alone || !managesTokens(token.scopes)) return (await documents.update({ id, ver, declared: null }, createTombstone(now))) !== null;

  const revocation = mintId('revoke');
  if (!(await documents.update({ id, ver, declared: null }, { set: { revocation, revocationStartedAt: now } }))) return false;
  if (!(await reserveSuccessor(documents, token, now))) {
    await documents.update({ id, revocation }, { unset: ['revocation', 'revocationStartedAt'] });
    throw lastAdmin(token);
  }
  return (await documents.update({ id, ver, revocation, declared: null }, createTombstone(now))) !== null;
}

async function reserveSuccessor(documents: Documents<TokenDocument>, token: LiveToken, now: number): Promise<boolean> {
  for await (const other of iterateLiveTokens(documents, now)) {
    if (other.id !== token.id && canCreate(other, token) && (await reserveToken(documents, other.id, { token, now }))) return true;
  }
  return false;
}

/** Writes to the other token, so that a concurrent revocation of it fails. Removes an expired mark. */
async function reserveToken(
  documents: Documents<TokenDocument>,
  id: string,
  { token, now }: { token: LiveToken; now: number },
): Promise<boolean> {
  for (;;) {
    const other = await documents.get(id);
    if (!isLive(other) || !canCreate(other, token)) return false;
    if (other.revocation !== undefined && now - (other.revocationStartedAt ?? 0) < REVOCATION_TTL_MS) return false;
    const reserved = await documents.update(
      { id, ver: other.ver, revocation: other.revocation ?? null },
      { set: { reservedAt: now }, unset: ['revocation', 'revocationStartedAt'] },
    );
    if (reserved) return true;
  }
}

function lastAdmin({ id, scopes }: LiveToken): ServiceError {
  return new ServiceError(
    'FAILED_PRECONDITION',
    `No other token could create ${id} (${scopes.join(', ')}) again. Create another token with these scopes first.`,
    { details: { reason: 'LAST_ADMIN' } },
  );
}
