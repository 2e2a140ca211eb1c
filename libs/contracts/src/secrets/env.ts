import { z } from 'zod';
import { Count, pageSize, Timestamp } from '../common.ts';
import { defineMethods } from '../define.ts';
import { SecretName } from './operations.ts';
import { MAX, upTo } from '../sizes.ts';

export const SecretStorage = z.enum(['encrypted', 'envfile']);

/** A secret as it may be shown: never its value. */
export const SecretListItem = z.object({
  name: upTo(MAX.name).describe('as it stands in its store or file'),
  source: SecretStorage,
  provider: upTo(MAX.name).optional().describe('guessed from the name'),
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
    summary: 'Stores a secret, sealed where there is a master key, and tells the services that use it.',
    description:
      'At most 5 writes a minute of a client. The value is never logged and never answered. Nothing restarts: whoever uses the secret ' +
      'asks for it anew.',
    scope: 'admin',
    audited: 'destructive',
    params: z.strictObject({ key: SecretName, value: SecretValue }),
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
    summary: 'Lists the names of the secrets that are set, never their values.',
    description: 'At most 30 calls a minute of a client.',
    scope: 'admin',
    params: z.strictObject({
      filter: z.string().max(256).optional().describe('a name, case-insensitive; * stands for any run of characters'),
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
