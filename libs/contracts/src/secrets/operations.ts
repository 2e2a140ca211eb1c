import { z } from 'zod';
import { MAX, upTo } from '../sizes.ts';
import { defineOperations } from '../define.ts';

export const SecretName = upTo(MAX.name).regex(/^[A-Z][A-Z0-9_]{0,255}$/);

/** How services come by secret values; no client ever does. */
export const secretsOperations = defineOperations({
  'secrets.resolve': {
    summary: 'The value of one secret, for the service that needs it.',
    callers: ['sessions', 'registry', 'memory', 'media', 'channels', 'tools'] as const,
    params: z.strictObject({ name: SecretName }),
    result: z.object({ value: upTo(MAX.value).nullable().describe('null when no such secret is set') }),
    emits: ['secret:accessed'],
    idempotent: true,
  },
  'secrets.webhookKeys': {
    summary: 'The secrets that the configuration of webhooks names, for the edge that checks signatures with them; no other one.',
    callers: ['gateway'] as const,
    params: z.strictObject({}),
    result: z.object({
      keys: z
        .array(
          z.object({ name: upTo(MAX.name), value: upTo(MAX.name).nullable().describe('null when no such secret is set, or it is longer') }),
        )
        .max(MAX.words),
    }),
    emits: ['secret:accessed'],
    idempotent: true,
  },
});
