import type { Documents } from '@switchyard/store';
import { isLive, type LiveToken, type TokenDocument } from '../documents/collections.ts';
import { couldMake, EVERYTHING, isExpired } from './grant-rules.ts';

const PAGE = 500;

/** Iterates over the valid tokens, oldest first, because the oldest usually have the most rights. */
export async function* liveTokens(mine: Pick<Documents<TokenDocument>, 'find'>, now: number): AsyncGenerator<LiveToken> {
  let cursor: string | undefined;
  do {
    const page = await mine.find(
      { hash: { exists: true } },
      { sort: [['createdAt', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
    );
    yield* page.items.filter(isLive).filter((token) => !isExpired(token, now));
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Whether a live token can create every other token. */
export async function anyGrantsEverything(mine: Documents<TokenDocument>, now: number): Promise<boolean> {
  for await (const token of liveTokens(mine, now)) if (couldMake(token, EVERYTHING)) return true;
  return false;
}
