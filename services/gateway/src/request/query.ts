import { createBadRequest } from './refusal.ts';

export interface QueryLimit {
  max: number;
  fallback: number;
}

/** A query as the server parses it. A repeated name has an array. */
export type Query = Readonly<Record<string, unknown>>;

/** Returns one parameter; undefined when it is absent or empty. Throws a refusal for a repeated name. */
export function getQueryText(query: Query, name: string): string | undefined {
  const value = query[name];
  if (typeof value !== 'string' && value !== undefined) throw createBadRequest(`Repeated query parameter: ${name}`);
  return value === '' ? undefined : value;
}

/** Returns the `limit` parameter, clamped to 1..max; the fallback when it is not a number. */
export function getQueryLimit(query: Query, { max, fallback }: QueryLimit): number {
  const text = getQueryText(query, 'limit');
  const requested = text === undefined ? Number.NaN : Number(text);
  return Number.isNaN(requested) ? fallback : Math.min(Math.max(Math.trunc(requested), 1), max);
}
