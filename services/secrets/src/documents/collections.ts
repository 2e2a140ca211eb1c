import { z } from 'zod';
import {
  AuditHead,
  AuditRecord,
  AllowedAgents,
  McpClient,
  Scope,
  SecretName,
  SessionAccess,
  SpendLimits,
  TokenId,
} from '@switchyard/contracts';
import { collection, json, type Collection } from '@switchyard/store';

/** A bearer token: never its secret, only the hash. Without a hash it is a tombstone, which keeps the id from being taken for new. */
export const TokenDocument = z.object({
  id: TokenId,
  hash: z.string().optional(),
  scopes: z.array(Scope),
  /** What stands in none of the older documents is optional; `grantOf` reads it. */
  sessions: SessionAccess.optional(),
  lenient: z.boolean().optional(),
  budgets: SpendLimits.optional(),
  agents: AllowedAgents.optional(),
  expiresAt: z.int().optional(),
  mcpClient: json(McpClient).nullable().optional(),
  /** Grows with every change, also across a token that was revoked and made again under the same id. */
  ver: z.int().positive(),
  /** How many tokens had this id before, and ended. */
  earlier: z.int().nonnegative().optional(),
  createdAt: z.int(),
  /** The client that made it, or the words for what did. */
  createdBy: z.string(),
  rotatedAt: z.int().optional(),
  /** Where the environment or a file declares it, in words. */
  declared: z.string().optional(),
  /** Of a tombstone whose declaration went away: it comes back as the same client if the same secret is declared again. */
  withdrawnHash: z.string().optional(),
  endedAt: z.int().optional(),
  /** Set while somebody means to revoke it: whoever does, and since when. */
  leaving: z.string().optional(),
  leavingSince: z.int().optional(),
  /** When it last stood in for one that was revoked. */
  vouchedAt: z.int().optional(),
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

/** A secret that was revoked or rotated away, or is just about to be: once no token has it, no declaration brings it back. */
export const SpentDocument = z.object({ hash: z.string(), id: TokenId, at: z.int() });

export const spentCollection = collection({
  name: 'spent',
  schema: SpentDocument,
  key: 'hash',
  indexes: [{ fields: ['hash'], across: true }],
});

export interface TokenData {
  tokens: Collection<TokenDocument>;
  spent: Collection<z.infer<typeof SpentDocument>>;
}

/** A value that `env.set` was told, sealed for its name and version. */
export const SecretDocument = z.object({
  name: SecretName,
  sealed: z.string(),
  version: z.int().positive(),
  createdAt: z.int(),
  updatedAt: z.int(),
});
export type SecretDocument = z.infer<typeof SecretDocument>;

export const secretCollection = collection({ name: 'secrets', schema: SecretDocument, key: 'name' });

/** The key that values are sealed with, itself sealed with the master key of that name. */
export const DataKeyDocument = z.object({
  id: z.string(),
  kekId: z.string(),
  wrapped: z.string(),
  createdAt: z.int(),
  /** A MAC of when it was made, under a key of its own: from then on every record of what was done has one. */
  createdMac: z.string().optional(),
});
export type DataKeyDocument = z.infer<typeof DataKeyDocument>;

export const dataKeyCollection = collection({ name: 'dataKeys', schema: DataKeyDocument, key: 'id' });

/** Where a provider's key is sent, since it was first asked for. */
export const KeyOriginDocument = z.object({ name: SecretName, origin: z.string(), boundAt: z.int() });
export type KeyOriginDocument = z.infer<typeof KeyOriginDocument>;

export const keyOriginCollection = collection({ name: 'keyOrigins', schema: KeyOriginDocument, key: 'name' });

/** When a client made the calls that are counted against a rate. */
export const RateDocument = z.object({ id: z.string(), at: z.array(z.int()), ver: z.int().nonnegative() });
export type RateDocument = z.infer<typeof RateDocument>;

export const rateCollection = collection({ name: 'rates', schema: RateDocument, key: 'id' });

/** A record of the audit. Its key is its number, so that of two that are put at one place one is refused. */
export const AuditDocument = AuditRecord.extend({ key: z.string(), target: json(AuditRecord.shape.target) });
export type AuditDocument = z.infer<typeof AuditDocument>;

export const auditCollection = collection({
  name: 'audit',
  schema: AuditDocument,
  key: 'key',
  unique: [['id']],
  indexes: [{ fields: ['seq'] }],
});

/** Where the chain ended when it was last looked at: never beyond its end. */
export const AuditHeadDocument = AuditHead.extend({ name: z.string() });

export const auditHeadCollection = collection({ name: 'auditHeads', schema: AuditHeadDocument, key: 'name' });

/** A call that was begun, and of which nothing more is heard yet. */
export const AuditBegunDocument = AuditRecord.pick({
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
export type AuditBegunDocument = z.infer<typeof AuditBegunDocument>;

export const auditBegunCollection = collection({
  name: 'auditBegun',
  schema: AuditBegunDocument,
  key: 'id',
  indexes: [{ fields: ['until'], across: true }],
});

export interface AuditData {
  records: Collection<AuditDocument>;
  heads: Collection<z.infer<typeof AuditHeadDocument>>;
  begun: Collection<AuditBegunDocument>;
}
