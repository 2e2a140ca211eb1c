import type { TestContext } from 'node:test';
import { ServiceError, type ErrorCode } from '@switchyard/contracts';
import { z } from 'zod';
import { collection } from '../port/collection.ts';
import { json } from '../port/json-field.ts';
import type { Collection, Store } from '../port/store.ts';

/** Opens the database of this name in strict mode. Opening it again must return the same documents. */
export type OpenStore = (database: string) => Promise<Store>;

/** Opens an empty collection and closes it after the test. */
export type Fresh = (t: TestContext) => Promise<Collection<Item>>;

export const a = { tenant: 'a' };
export const b = { tenant: 'b' };

export const Item = z.object({
  id: z.string(),
  title: z.string(),
  n: z.int().default(0),
  flag: z.boolean().optional(),
  note: z.string().nullable().optional(),
  tags: z.array(z.string()).optional(),
  group: z.string().optional(),
  rank: z.int().optional(),
  slug: z.string().optional(),
  data: json().optional(),
  labels: json(z.record(z.string(), z.string())).optional(),
  calls: z.array(json()).optional(),
  place: z.object({ x: z.int() }).optional(),
  mixed: z.union([z.string(), z.number(), z.boolean()]).optional(),
  expiresAt: z.int().optional(),
});
export type Item = z.infer<typeof Item>;

export const items = collection({
  name: 'items',
  schema: Item,
  key: 'id',
  indexes: [{ fields: ['n'] }, { fields: ['title', 'n'] }, { fields: ['n'], across: true }, { fields: ['id'], across: true }],
  unique: [['slug'], ['group', 'rank']],
  expires: { field: 'expiresAt', afterMs: 1_000 },
});

export function newItem<F extends Partial<Item> & { tenant?: string }>(id: string, fields?: F): Item & F {
  return { id, title: `item ${id}`, n: 0, ...fields } as Item & F;
}

export function code(expected: ErrorCode) {
  return (error: unknown): boolean => error instanceof ServiceError && error.code === expected;
}
