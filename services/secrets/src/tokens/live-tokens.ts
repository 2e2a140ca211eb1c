import type { Documents } from '@switchyard/store';
import { isLive, type LiveToken, type TokenDocument } from '../documents/collections.ts';
import { canCreate, FULL_GRANT, isExpired } from './grant-rules.ts';

const PAGE_SIZE = 500;

/** Iterates over the valid tokens, oldest first, because the oldest usually have the most rights. */
export async function* iterateLiveTokens(documents: Pick<Documents<TokenDocument>, 'find'>, now: number): AsyncGenerator<LiveToken> {
  let cursor: string | undefined;
  do {
    const page = await documents.find(
      { hash: { exists: true } },
      { sort: [['createdAt', 'asc']], limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) },
    );
    yield* page.items.filter(isLive).filter((token) => !isExpired(token, now));
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Whether a live token can create every other token. */
export async function hasFullAccessToken(documents: Documents<TokenDocument>, now: number): Promise<boolean> {
  for await (const token of iterateLiveTokens(documents, now)) if (canCreate(token, FULL_GRANT)) return true;
  return false;
}
