import { MAX } from '@switchyard/contracts';
import { z } from 'zod';

/** Maximum nesting of a schema, so that serializing it cannot overflow the stack. */
const MAX_DEPTH = 64;

/** Text of a message. */
export const text = z.string().max(MAX.text);
export const name = z.string().min(1).max(MAX.name);
export const callId = z.string().min(1).max(MAX.url);
/** A JSON Schema from a client. */
export const schema = z.unknown().transform((value, ctx) => {
  if (isRecord(value) && isNestedWithin(value, MAX_DEPTH)) return value;
  const received = isRecord(value) ? 'more' : 'another value';
  ctx.addIssue({ code: 'custom', message: `object of at most ${MAX_DEPTH} levels`, params: { received } });
  return z.NEVER;
});

/** Removes fields with the value null, which clients send for defaults. */
export function removeNulls(body: unknown): unknown {
  if (!isRecord(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

/** Whether a value is nested within the limit of schemas. */
export function isShallow(value: unknown): boolean {
  return isNestedWithin(value, MAX_DEPTH);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNestedWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isNestedWithin(inner, depth - 1));
}
