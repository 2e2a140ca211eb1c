import { ServiceError } from '@switchyard/contracts';
import type { Documents } from '@switchyard/store';
import type { LiveToken, TokenDocument } from '../documents/collections.ts';
import { unsaid, type Granted } from './grant-rules.ts';

export type NewToken = Granted & Pick<LiveToken, 'id' | 'hash' | 'createdBy' | 'declared'>;

const OF_EARLIER = ['rotatedAt', 'endedAt', 'withdrawnHash', 'leaving', 'leavingSince'] as const;

/** Creates a token in one write, also in place of a tombstone. Null if a live token has this id. */
export async function makeToken(mine: Documents<TokenDocument>, token: NewToken, now: number): Promise<TokenDocument | null> {
  const fresh = { ...token, createdAt: now };
  try {
    return await mine.insert({ ...fresh, ver: now, earlier: 0 });
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
  }
  const { id, ...set } = fresh;
  return mine.update({ id, hash: { exists: false } }, { set, inc: { earlier: 1, ver: 1 }, unset: [...OF_EARLIER, ...unsaid(token)] });
}
