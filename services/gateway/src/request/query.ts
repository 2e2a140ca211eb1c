import { badRequest } from './refusal.ts';

export interface Limit {
  most: number;
  unless: number;
}

/** A query as the server parses it: a name given twice has an array. */
export type Query = Readonly<Record<string, unknown>>;

/** One parameter; undefined when it is absent or empty. */
export function queryText(query: Query, name: string): string | undefined {
  const value = query[name];
  if (typeof value !== 'string' && value !== undefined) throw badRequest(`Query parameter given more than once: ${name}`);
  return value === '' ? undefined : value;
}

/** How many of something; what is no number, or beyond 1 to `most`, is brought back into it. */
export function queryLimit(query: Query, { most, unless }: Limit): number {
  const text = queryText(query, 'limit');
  const asked = text === undefined ? Number.NaN : Number(text);
  return Number.isNaN(asked) ? unless : Math.min(Math.max(Math.trunc(asked), 1), most);
}
