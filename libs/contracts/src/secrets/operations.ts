import { z } from 'zod';
import { Timestamp } from '../common.ts';
import { MAX, upTo } from '../sizes.ts';
import { defineOperations, SERVICES } from '../define.ts';

export const SecretName = upTo(MAX.name).regex(/^[A-Z][A-Z0-9_]{0,255}$/);

/** What a value of the longest kind is when it is sealed: three bytes a character, in base64, and what stands before it. */
const MAX_SEALED = 34_000;

const Origin = upTo(MAX.url)
  .regex(/^https?:\/\/[^/?#@]+$/)
  .describe('where the key of a provider is sent: it is bound to the first one, until it is set again');

const SEALED = /^[A-Za-z0-9_.-]*$/;
const Sealed = upTo(MAX_SEALED).regex(SEALED);

const SealedKey = upTo(2_000)
  .regex(SEALED)
  .describe('sealed to the asker; null when no such secret is set, or it is longer than 256 characters');

const PublicKey = upTo(43).regex(/^[A-Za-z0-9_-]{43}$/);

/** The operation that says what secret params are sealed to. */
export const SEALING_KEY = 'secrets.sealingKey';

/** Who asks for a secret: the answer is sealed to its key, and opens for this call alone. */
const SecretAsker = z.strictObject({
  service: z.enum(SERVICES),
  key: PublicKey.describe('the X25519 public key of the asking process, in base64url'),
  nonce: upTo(MAX.id).min(22).describe('drawn anew for each call'),
});
export type SecretAsker = z.infer<typeof SecretAsker>;

/** How services come by secret values; no client ever does. */
export const secretsOperations = defineOperations({
  'secrets.resolve': {
    summary: 'The value of one secret, sealed to the process that needs it.',
    callers: ['sessions', 'registry', 'memory', 'media', 'channels', 'tools'] as const,
    params: z.strictObject({ name: SecretName, origin: Origin.optional(), to: SecretAsker }),
    result: z.object({ value: Sealed.nullable().describe('sealed to the asker; null when no such secret is set') }),
    emits: ['secret:accessed'],
    idempotent: true,
  },
  'secrets.webhookKeys': {
    summary: 'The secrets that the configuration of webhooks names, sealed to the edge that checks signatures with them; no other one.',
    callers: ['gateway'] as const,
    params: z.strictObject({ to: SecretAsker }),
    result: z.object({ keys: z.array(z.object({ name: upTo(MAX.name), value: SealedKey.nullable() })).max(MAX.words) }),
    emits: ['secret:accessed'],
    idempotent: true,
  },
  [SEALING_KEY]: {
    summary: 'What a secret that is on its way here is sealed to: every replica opens it, for a minute.',
    callers: ['gateway'] as const,
    params: z.strictObject({}),
    result: z.object({
      key: PublicKey.describe('an X25519 public key, in base64url'),
      at: Timestamp.describe('when it was asked for, by the clock of the database'),
    }),
    idempotent: true,
  },
});
