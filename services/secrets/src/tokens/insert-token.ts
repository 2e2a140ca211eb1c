import { ServiceError } from '@switchyard/contracts';
import type { Documents } from '@switchyard/store';
import type { LiveToken, TokenDocument } from '../documents/collections.ts';
import { listUnsetLimits, type TokenGrant } from './grant-rules.ts';

export type NewToken = TokenGrant & Pick<LiveToken, 'id' | 'hash' | 'createdBy' | 'declared'>;

const FIELDS_OF_TOMBSTONE = ['rotatedAt', 'endedAt', 'withdrawnHash', 'revocation', 'revocationStartedAt'] as const;

/** Creates a token in one write, also in place of a tombstone. Null if a live token has this id. */
export async function insertToken(documents: Documents<TokenDocument>, token: NewToken, now: number): Promise<TokenDocument | null> {
  const fresh = { ...token, createdAt: now };
  try {
    return await documents.insert({ ...fresh, ver: now, earlier: 0 });
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
  }
  const { id, ...set } = fresh;
  return documents.update(
    { id, hash: { exists: false } },
    { set, inc: { earlier: 1, ver: 1 }, unset: [...FIELDS_OF_TOMBSTONE, ...listUnsetLimits(token)] },
  );
}
