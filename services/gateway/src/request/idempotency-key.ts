import type { IncomingMessage } from 'node:http';
import { IdempotencyKey } from '@switchyard/contracts';
import { createBadRequest } from './refusal.ts';

/** The idempotency key from the header or from a parameter. Throws a refusal for an invalid key and for two keys that differ. */
export function getIdempotencyKey({ headers }: Pick<IncomingMessage, 'headers'>, paramKey?: string): string | undefined {
  const header = headers['idempotency-key'];
  const key = typeof header === 'string' ? header : paramKey;
  if (key === undefined) return undefined;
  if (paramKey !== undefined && paramKey !== key)
    throw createBadRequest('Idempotency-Key: the header and idempotencyKey differ; send it in one place');
  if (!IdempotencyKey.safeParse(key).success) throw createBadRequest(`Idempotency-Key: expected ${IdempotencyKey.description ?? 'a key'}`);
  return key;
}
