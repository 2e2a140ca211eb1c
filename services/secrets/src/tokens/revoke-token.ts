import { ServiceError } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Change, Documents } from '@switchyard/store';
import { isLive, type LiveToken, type TokenDocument } from '../documents/collections.ts';
import { liveTokens } from './live-tokens.ts';
import { couldMake, managesTokens } from './grant-rules.ts';

/** A revocation that takes longer has failed, and its mark is ignored. Safety does not depend on this timeout. */
const LEAVING_MS = 5_000;

/** The change that turns a token into a tombstone. */
export function tombstone(now: number) {
  return {
    set: { endedAt: now },
    inc: { ver: 1 },
    unset: ['hash', 'declared', 'expiresAt', 'leaving', 'leavingSince'],
  } satisfies Change<TokenDocument>;
}

interface Ending {
  now: number;
  alone?: boolean;
}

/**
 * Revokes a token; returns false if it has changed since it was read. A token that manages tokens is revoked only if another live
 * token could create it again. The revocation marks the token, writes to another unmarked token, and then revokes the token if it
 * still has the mark. If two admins revoke each other, one of them finds the other marked and fails. `alone` skips this check for the
 * operator of the installation, who can create tokens in every tenant.
 */
export async function endToken(mine: Documents<TokenDocument>, token: LiveToken, { now, alone = false }: Ending): Promise<boolean> {
  const { id, ver } = token;
  if (alone || !managesTokens(token.scopes)) return (await mine.update({ id, ver, declared: null }, tombstone(now))) !== null;

  const leaving = mintId('leave');
  if (!(await mine.update({ id, ver, declared: null }, { set: { leaving, leavingSince: now } }))) return false;
  if (!(await anotherVouches(mine, token, now))) {
    await mine.update({ id, leaving }, { unset: ['leaving', 'leavingSince'] });
    throw lastOne(token);
  }
  return (await mine.update({ id, ver, leaving, declared: null }, tombstone(now))) !== null;
}

async function anotherVouches(mine: Documents<TokenDocument>, token: LiveToken, now: number): Promise<boolean> {
  for await (const other of liveTokens(mine, now)) {
    if (other.id !== token.id && couldMake(other, token) && (await vouches(mine, other.id, { token, now }))) return true;
  }
  return false;
}

/** Writes to the other token, so that a concurrent revocation of it fails. Removes an expired mark. */
async function vouches(mine: Documents<TokenDocument>, id: string, { token, now }: { token: LiveToken; now: number }): Promise<boolean> {
  for (;;) {
    const other = await mine.get(id);
    if (!isLive(other) || !couldMake(other, token)) return false;
    if (other.leaving !== undefined && now - (other.leavingSince ?? 0) < LEAVING_MS) return false;
    const vouched = await mine.update(
      { id, ver: other.ver, leaving: other.leaving ?? null },
      { set: { vouchedAt: now }, unset: ['leaving', 'leavingSince'] },
    );
    if (vouched) return true;
  }
}

function lastOne({ id, scopes }: LiveToken): ServiceError {
  return new ServiceError(
    'FAILED_PRECONDITION',
    `No other token could create ${id} (${scopes.join(', ')}) again. Create another token with these scopes first.`,
    { details: { reason: 'LAST_ADMIN' } },
  );
}
