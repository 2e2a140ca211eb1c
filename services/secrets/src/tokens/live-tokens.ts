import type { Documents } from '@switchyard/store';
import { isLive, type LiveToken, type TokenDocument } from '../data.ts';
import { couldMake, EVERYTHING } from './rules.ts';

const PAGE = 500;

/** Oldest first: those that may do most usually come first. */
export async function* liveTokens(mine: Pick<Documents<TokenDocument>, 'find'>): AsyncGenerator<LiveToken> {
  let cursor: string | undefined;
  do {
    const page = await mine.find(
      { hash: { exists: true } },
      { sort: [['createdAt', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
    );
    yield* page.items.filter(isLive);
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Whether somebody can make any token there may be. */
export async function anyGrantsEverything(mine: Documents<TokenDocument>): Promise<boolean> {
  for await (const token of liveTokens(mine)) if (couldMake(token, EVERYTHING)) return true;
  return false;
}
