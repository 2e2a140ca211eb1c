import { z } from 'zod';
import { AgentId, Scopes, SessionsOf, Timestamp, TokenId } from './common.ts';
import { LogLevel } from './config/kinds.ts';
import { LogModule } from './log-module.ts';
import { McpClient } from './config/mcp-client.ts';
import { mostKeys } from './most-keys.ts';
import { MAX, upTo } from './sizes.ts';

/** A live token as the edge sees it, in the bucket `tokens` under its tenant and id. Never the secret. */
export const TokenProjection = z.object({
  id: TokenId,
  hash: z.string().max(64).describe('hex SHA-256 of the secret'),
  scopes: Scopes,
  tenant: upTo(MAX.id),
  client: upTo(MAX.name).describe('who the token speaks for; the id, unless an earlier token had it'),
  sessions: SessionsOf.default('tenant').describe('whose sessions it may read and write'),
  lenient: z.boolean().default(false).describe('whether /v1 passes over fields that mean nothing here'),
  mcpClient: McpClient.optional().describe('what it may do at /mcp'),
  ver: z.int().positive(),
  expiresAt: Timestamp.optional(),
});
export type TokenProjection = z.infer<typeof TokenProjection>;

/** What stands under `TOKENS_TOLD`. */
export const TokensTold = z.strictObject({ told: z.literal(true) });

/** An agent as every service sees it, in the bucket `agents` under its tenant and id. */
export const AgentProjection = z.object({
  agentId: AgentId,
  tenant: upTo(MAX.id),
  suspended: z.boolean(),
  isDefault: z.boolean(),
  /** The effective configuration: the section `agents.<id>` of the configuration, with its defaults. */
  config: z.record(z.string(), z.unknown()),
});
export type AgentProjection = z.infer<typeof AgentProjection>;

/** Which revisions of the watched buckets a replica runs, in the bucket `replicas` under `<service>.<replica>`. */
export const ReplicaReport = z.object({
  service: upTo(MAX.id),
  replica: upTo(MAX.id),
  revisions: z.record(upTo(MAX.name), z.int().nonnegative()).check(mostKeys(MAX.many)).describe('by bucket name'),
});
export type ReplicaReport = z.infer<typeof ReplicaReport>;

/** How much is logged, everywhere and by module, until the next start: in the bucket `levels`. */
export const LogLevelWish = z.object({ all: LogLevel.optional(), modules: z.partialRecord(LogModule, LogLevel) });
export type LogLevelWish = z.infer<typeof LogLevelWish>;
