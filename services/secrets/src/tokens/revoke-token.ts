import { ServiceError } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Change, Documents } from '@switchyard/store';
import { isLive, type LiveToken, type TokenDocument } from '../documents/collections.ts';
import { liveTokens } from './live-tokens.ts';
import { couldMake, managesTokens } from './grant-rules.ts';

/** Whoever has not revoked by then has given up: the token stands for others again. Only a wait, safety does not rest on it. */
const LEAVING_MS = 5_000;

/** What makes a tombstone of it. */
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
 * Ends a token; false when it was changed meanwhile. One that manages tokens ends only while another lives that could make it
 * again, whoever revokes whom at the same time: it is marked, then another one that is not marked is written to, then it ends if
 * it is still marked. Of two that each stand for the other, one finds the other marked. `alone` is for who could make it again and
 * is none of them: the operator of the installation, with the tokens of another tenant.
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

/** A write, not a look: it fails if the other one was marked or changed since it was read, and takes away a mark that was left behind. */
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
    `No other token could make ${id} (${scopes.join(', ')}) again, or the others are being revoked now; create another one first.`,
    { details: { reason: 'LAST_ADMIN' } },
  );
}
