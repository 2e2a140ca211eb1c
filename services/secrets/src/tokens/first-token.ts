import { hashToken } from '@switchyard/security';
import type { Documents, Store } from '@switchyard/store';
import type { TokenDocument } from '../documents/collections.ts';
import { hasFullAccessToken } from './live-tokens.ts';
import { insertToken } from './insert-token.ts';
import { FULL_GRANT } from './grant-rules.ts';

/** Contains spaces, so that no client id equals it. */
const FIRST_START = 'the first start';

/** Token operations of the launcher before the service answers calls. */
export interface FirstToken {
  /** Whether the secret belongs to a live token. */
  accepts(secret: string): Promise<boolean>;
  /**
   * Creates a token with full access and returns its secret. Returns undefined if such a token exists. `mint` is called only if a
   * token is needed, and saves the secret before the token is stored: after a crash in between the saved secret is invalid, and the
   * next start mints another.
   */
  admit(mint: () => string): Promise<string | undefined>;
}

export function createFirstToken(documents: Documents<TokenDocument>, store: Pick<Store, 'now'>): FirstToken {
  return {
    async accepts(secret) {
      return (await documents.count({ hash: hashToken(secret) })) > 0;
    },

    async admit(mint) {
      let secret: string | undefined;
      for (let n = 1; !(await hasFullAccessToken(documents, store.now())); n += 1) {
        secret ??= mint();
        const id = n === 1 ? 'first' : `first-${n}`; // the same id in every replica, so that one insert wins
        const fields = { id, hash: hashToken(secret), ...FULL_GRANT, createdBy: FIRST_START };
        if (await insertToken(documents, fields, store.now())) return secret;
      }
      return undefined;
    },
  };
}
