import { z } from 'zod';
import { Timestamp } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { SecretPurpose } from './purposes.ts';
import { defineOperations, SERVICES } from '../definition/define.ts';

export const SecretName = boundedString(MAX.name).regex(/^[A-Z][A-Z0-9_]{0,255}$/);

/** Size of the longest value as a JWE: three bytes a character, in base64url, plus the header. */
const MAX_SEALED = 34_000;

const Origin = boundedString(MAX.url)
  .regex(/^https?:\/\/[^/?#@]+$/)
  .describe('origin that receives the provider key; refused unless the key is bound to it');

const SEALED = /^[A-Za-z0-9_.-]*$/;
const Sealed = boundedString(MAX_SEALED).regex(SEALED);

const SealedKey = boundedString(2_000)
  .regex(SEALED)
  .describe('encrypted for the caller; null if the secret is not set or longer than 256 characters');

const PublicKey = boundedString(43).regex(/^[A-Za-z0-9_-]{43}$/);

/** The operation that says what secret params are sealed to. */
export const SEALING_KEY = 'secrets.sealingKey';

/** The process that requests a secret. The result is encrypted to its key, for this call only. */
const SecretAsker = z.strictObject({
  service: z.enum(SERVICES),
  key: PublicKey.describe('X25519 public key of the calling process, base64url'),
  nonce: boundedString(MAX.id).min(22).describe('random per call'),
});
export type SecretAsker = z.infer<typeof SecretAsker>;

/** How services come by secret values; no client ever does. */
export const secretsOperations = defineOperations({
  'secrets.resolve': {
    summary: 'Returns the value of one secret, encrypted for the calling process.',
    callers: ['sessions', 'registry', 'memory', 'media', 'channels', 'tools', 'browser'] as const,
    params: z.strictObject({ name: SecretName, origin: Origin.optional(), purpose: SecretPurpose.optional(), to: SecretAsker }),
    result: z.object({ value: Sealed.nullable().describe('encrypted for the caller; null if the secret is not set') }),
    emits: ['secret:accessed'],
    idempotent: true,
  },
  'secrets.webhookKeys': {
    summary: 'Returns the secrets named by the webhook configuration, encrypted for the calling gateway, and no others.',
    callers: ['gateway'] as const,
    params: z.strictObject({ to: SecretAsker }),
    result: z.object({ keys: z.array(z.object({ name: boundedString(MAX.name), value: SealedKey.nullable() })).max(MAX.words) }),
    emits: ['secret:accessed'],
    idempotent: true,
  },
  'secrets.storageKey': {
    summary: 'Returns the key with which the calling service encrypts what it stores, encrypted for the calling process.',
    callers: ['browser'] as const,
    params: z.strictObject({ to: SecretAsker }),
    result: z.object({ key: SealedKey.nullable().describe('base64url of 32 bytes, the same on every replica; null without a master key') }),
    idempotent: true,
  },
  [SEALING_KEY]: {
    summary: 'Returns the public key for encrypting secrets to this service; valid on every replica for a minute.',
    callers: ['gateway'] as const,
    params: z.strictObject({}),
    result: z.object({
      key: PublicKey.describe('X25519 public key, base64url'),
      at: Timestamp.describe('time of the request by the database clock'),
    }),
    idempotent: true,
  },
});
