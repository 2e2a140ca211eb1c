import { hashToken } from '@switchyard/security';
import type { Documents, Store } from '@switchyard/store';
import type { TokenDocument } from '../documents/collections.ts';
import { anyGrantsEverything } from './live-tokens.ts';
import { makeToken } from './insert-token.ts';
import { EVERYTHING } from './grant-rules.ts';

const FIRST_START = 'the first start'; // no client is called so

/** What the process that starts everything may do before anybody is let in. */
export interface FirstToken {
  /** Whether it is the secret of a live token. */
  accepts(secret: string): Promise<boolean>;
  /**
   * Makes an ordinary token that may do everything, and says its secret; undefined, and nothing is made, while there is one.
   * `mint` is called only when one is needed, and keeps the secret before the token is there: a crash in between leaves a
   * secret that opens nothing, and the next start mints another.
   */
  admit(mint: () => string): Promise<string | undefined>;
}

export function createFirstToken(mine: Documents<TokenDocument>, store: Pick<Store, 'now'>): FirstToken {
  return {
    async accepts(secret) {
      return (await mine.count({ hash: hashToken(secret) })) > 0;
    },

    async admit(mint) {
      let secret: string | undefined;
      for (let n = 1; !(await anyGrantsEverything(mine, store.now())); n += 1) {
        secret ??= mint();
        const id = n === 1 ? 'first' : `first-${n}`; // the same for all who try at once, so that one of them is first
        const fields = { id, hash: hashToken(secret), ...EVERYTHING, createdBy: FIRST_START };
        if (await makeToken(mine, fields, store.now())) return secret;
      }
      return undefined;
    },
  };
}
