import type { IncomingMessage } from 'node:http';
import { IdempotencyKey } from '@switchyard/contracts';
import { badRequest } from './refusal.ts';

/** The key of a request, which may also stand in what it says. Throws the refusal of one that is none, or of two. */
export function idempotencyKeyOf({ headers }: Pick<IncomingMessage, 'headers'>, twin?: string): string | undefined {
  const header = headers['idempotency-key'];
  const key = typeof header === 'string' ? header : twin;
  if (key === undefined) return undefined;
  if (twin !== undefined && twin !== key) throw badRequest('Idempotency-Key: the header and idempotencyKey differ; send it in one place');
  if (!IdempotencyKey.safeParse(key).success) throw badRequest(`Idempotency-Key: expected ${IdempotencyKey.description ?? 'a key'}`);
  return key;
}
