import { z } from 'zod';
import { collection } from '@switchyard/store';
import { count, instant } from './schema-fields.ts';

/** Counts what a tenant, or one of its clients, has stored. */
export const StorageUsageDocument = z.object({
  /** `tenant`, or `client` and its id. */
  id: z.string(),
  /** May be below zero until the next recount. */
  bytes: z.int(),
  /** Sum of all added and removed bytes. It shows what was written while a recount ran. */
  changed: count.optional(),
  /** Time of the last recount. Set on the document of the tenant only. */
  recountedAt: instant.optional(),
});

export type StorageUsageDocument = z.infer<typeof StorageUsageDocument>;

export const storageUsageCollection = collection({ name: 'storage', schema: StorageUsageDocument, key: 'id' });
