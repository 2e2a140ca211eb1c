import { z } from 'zod';

export const SecretName = z.string().regex(/^[A-Z][A-Z0-9_]{0,255}$/);

/** How services come by secret values; no client ever does. */
export const secretsOperations = {
  'secrets.resolve': {
    summary: 'The value of one secret, for the service that needs it.',
    callers: ['sessions', 'registry', 'memory', 'media', 'channels', 'tools'] as const,
    params: z.strictObject({ name: SecretName }),
    result: z.object({ value: z.string().nullable().describe('null when no such secret is set') }),
    idempotent: true,
  },
};
