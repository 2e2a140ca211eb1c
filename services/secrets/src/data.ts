import { z } from 'zod';
import { Scope, TokenId } from '@switchyard/contracts';
import { collection } from '@switchyard/store';

/** A bearer token: never its secret, only the hash. */
export const TokenDocument = z.object({
  id: TokenId,
  hash: z.string(),
  scopes: z.array(Scope),
  /** Grows with every change, also across a token that was revoked and made again under the same id. */
  ver: z.int().positive(),
  createdAt: z.int(),
  createdBy: z.string(),
  rotatedAt: z.int().optional(),
});
export type TokenDocument = z.infer<typeof TokenDocument>;

export const tokenCollection = collection({ name: 'tokens', schema: TokenDocument, key: 'id', unique: [['hash']] });
