import { z } from 'zod';
import { Count, pageSize, Timestamp } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { SecretName } from './operations.ts';
import { SecretOrigin, SecretPurpose } from './purposes.ts';
import { MAX, boundedString } from '../values/sizes.ts';

export const SecretStorage = z.enum(['encrypted', 'envfile']);

/** A secret as it may be shown: never its value. */
export const SecretListItem = z.object({
  name: boundedString(MAX.name).describe('name in its store or file'),
  source: SecretStorage,
  provider: boundedString(MAX.name).optional().describe('derived from the name'),
  createdAt: Timestamp.optional(),
  updatedAt: Timestamp.optional(),
  usageCount: Count.optional(),
});

const SecretValue = z
  .string()
  .min(1)
  .max(8192)
  .refine((value) => !value.startsWith('[REDACTED'), 'the secret itself, not its redacted form');

export type SecretListItem = z.infer<typeof SecretListItem>;

export const envMethods = defineMethods({
  'env.set': {
    summary: 'Stores a secret, encrypted if a master key is configured, and notifies the services that use it.',
    description:
      'Limited to 5 writes a minute per client. The value is never logged and never returned. No process restarts: services read the ' +
      'new value on their next use. Without purpose and origins, a new value keeps the earlier ones.',
    scope: 'admin',
    audited: 'destructive',
    params: z.strictObject({
      key: SecretName,
      value: SecretValue,
      purpose: SecretPurpose.optional().describe('only use of the secret; default: provider for keys of known providers or with origins'),
      origins: z
        .array(SecretOrigin)
        .min(1)
        .max(8)
        .optional()
        .describe('only origins that receive the provider key; default: the published origin of a known provider'),
    }),
    sealed: ['value'],
    result: z.object({ set: z.literal(true), key: SecretName, storage: SecretStorage, restarting: z.literal(true) }),
    idempotent: true,
    errors: ['FAILED_PRECONDITION', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED'],
    emits: ['secret:modified', 'audit:event'],
    examples: [
      {
        params: { key: 'OPENAI_API_KEY', value: 'the-key-of-the-provider' },
        result: { set: true, key: 'OPENAI_API_KEY', storage: 'encrypted', restarting: true },
      },
    ],
  },
  'env.list': {
    summary: 'Lists the names of stored secrets, never their values.',
    description: 'Limited to 30 calls a minute per client.',
    scope: 'admin',
    params: z.strictObject({
      filter: z.string().max(256).optional().describe('name pattern, case-insensitive; * matches any characters'),
      limit: pageSize(100, 500),
    }),
    result: z.object({ secrets: z.array(SecretListItem).max(MAX.all), total: Count, truncated: z.boolean() }),
    blobs: ['secrets'],
    idempotent: true,
    errors: ['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED'],
    examples: [
      {
        params: { filter: '*_API_KEY' },
        result: {
          secrets: [{ name: 'OPENAI_API_KEY', source: 'encrypted', provider: 'openai', createdAt: 1763719200000 }],
          total: 1,
          truncated: false,
        },
      },
    ],
  },
});
