import { z } from 'zod';
import {
  AuditHead,
  AuditRecord,
  AllowedAgents,
  McpClient,
  Scope,
  SecretName,
  SecretPurpose,
  SessionAccess,
  SpendLimits,
  TokenId,
} from '@switchyard/contracts';
import { collection, json, type Collection } from '@switchyard/store';

/** A bearer token. It stores the hash of the secret. Without a hash it is a tombstone, so that a reused id becomes another client. */
export const TokenDocument = z.object({
  id: TokenId,
  hash: z.string().optional(),
  scopes: z.array(Scope),
  sessions: SessionAccess.optional(),
  lenient: z.boolean().optional(),
  budgets: SpendLimits.optional(),
  agents: AllowedAgents.optional(),
  expiresAt: z.int().optional(),
  mcpClient: json(McpClient).nullable().optional(),
  /** Incremented by every change. Continues when a revoked token is created again under the same id. */
  ver: z.int().positive(),
  /** Number of revoked tokens that had this id before. */
  earlier: z.int().nonnegative().optional(),
  createdAt: z.int(),
  /** The client that created it, or a description of the source. */
  createdBy: z.string(),
  rotatedAt: z.int().optional(),
  /** The variable or file that declares the token, as text for operators. */
  declared: z.string().optional(),
  /** Set on a tombstone whose declaration was removed. If the same secret is declared again, the token returns as the same client. */
  withdrawnHash: z.string().optional(),
  endedAt: z.int().optional(),
  /** Id and start of a revocation in progress. */
  revocation: z.string().optional(),
  revocationStartedAt: z.int().optional(),
  /** When this token last allowed the revocation of another admin token. */
  reservedAt: z.int().optional(),
});
export type TokenDocument = z.infer<typeof TokenDocument>;
export type LiveToken = TokenDocument & { hash: string };

export function isLive(token: TokenDocument | null): token is LiveToken {
  return token?.hash !== undefined;
}

export const tokenCollection = collection({
  name: 'tokens',
  schema: TokenDocument,
  key: 'id',
  unique: [['hash']],
  indexes: [
    { fields: ['createdAt'] },
    { fields: ['hash'], across: true },
    { fields: ['declared'], across: true },
    { fields: ['expiresAt'], across: true },
  ],
});

/** Hash of a secret that was revoked or replaced, written before the token changes. Such a secret cannot be declared again. */
export const RetiredSecretDocument = z.object({ hash: z.string(), id: TokenId, at: z.int() });

export const retiredSecretCollection = collection({
  name: 'retiredSecrets',
  schema: RetiredSecretDocument,
  key: 'hash',
  indexes: [{ fields: ['hash'], across: true }],
});

export interface TokenData {
  tokens: Collection<TokenDocument>;
  retiredSecrets: Collection<z.infer<typeof RetiredSecretDocument>>;
}

/** A value stored by `env.set`, encrypted and bound to its name and version. */
export const SecretDocument = z.object({
  name: SecretName,
  ciphertext: z.string(),
  version: z.int().positive(),
  createdAt: z.int(),
  updatedAt: z.int(),
});
export type SecretDocument = z.infer<typeof SecretDocument>;

export const secretCollection = collection({ name: 'secrets', schema: SecretDocument, key: 'name' });

/** The key that encrypts values, itself encrypted with the master key. */
export const DataKeyDocument = z.object({
  id: z.string(),
  masterKeyId: z.string(),
  encryptedKey: z.string(),
  createdAt: z.int(),
  /** MAC of `createdAt` under the audit key. From then on every audit record has a MAC. */
  createdMac: z.string().optional(),
});
export type DataKeyDocument = z.infer<typeof DataKeyDocument>;

export const dataKeyCollection = collection({ name: 'dataKeys', schema: DataKeyDocument, key: 'id' });

/** The purpose of a secret and the origins that may receive it, set together with its value. */
export const SecretBindingDocument = z.object({
  name: SecretName,
  purpose: SecretPurpose,
  origins: json(z.array(z.string())),
  boundAt: z.int(),
});
export type SecretBindingDocument = z.infer<typeof SecretBindingDocument>;

export const secretBindingCollection = collection({ name: 'secretBindings', schema: SecretBindingDocument, key: 'name' });

/** Times of the rate-limited calls of one client within the last minute. */
export const RateDocument = z.object({ id: z.string(), calledAt: z.array(z.int()), ver: z.int().nonnegative() });
export type RateDocument = z.infer<typeof RateDocument>;

export const rateCollection = collection({ name: 'rates', schema: RateDocument, key: 'id' });

/** An audit record. Its key is its number, so that two inserts at one position conflict. */
export const AuditDocument = AuditRecord.extend({ key: z.string(), target: json(AuditRecord.shape.target) });
export type AuditDocument = z.infer<typeof AuditDocument>;

export const auditCollection = collection({
  name: 'audit',
  schema: AuditDocument,
  key: 'key',
  unique: [['id']],
  indexes: [{ fields: ['seq'] }],
});

/** The last known end of the chain. It can be behind the chain and is never ahead of it. */
export const AuditHeadDocument = AuditHead.extend({ name: z.string() });

export const auditHeadCollection = collection({ name: 'auditHeads', schema: AuditHeadDocument, key: 'name' });

/** An audited call whose outcome is not reported yet. */
export const PendingCallDocument = AuditRecord.pick({
  id: true,
  method: true,
  kind: true,
  target: true,
  requestId: true,
  service: true,
  replica: true,
  since: true,
  client: true,
  agent: true,
}).extend({ until: z.int(), target: json(AuditRecord.shape.target) });
export type PendingCallDocument = z.infer<typeof PendingCallDocument>;

export const pendingCallCollection = collection({
  name: 'auditPending',
  schema: PendingCallDocument,
  key: 'id',
  indexes: [{ fields: ['until'], across: true }],
});

export interface AuditData {
  records: Collection<AuditDocument>;
  heads: Collection<z.infer<typeof AuditHeadDocument>>;
  pendingCalls: Collection<PendingCallDocument>;
}
