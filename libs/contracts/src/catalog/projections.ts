import { z } from 'zod';
import { AgentId, Count, AllowedAgents, Scopes, SessionAccess, Timestamp, TokenId } from '../values/common.ts';
import { LogLevel } from '../config/kinds.ts';
import { LogModule } from '../definition/log-module.ts';
import { McpClient } from '../config/mcp-client.ts';
import { SpendLimits } from '../config/spend-limits.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** A live token as the edge sees it, in the bucket `tokens` under its tenant and id. Never the secret. */
export const TokenProjection = z.object({
  id: TokenId,
  hash: z.string().max(64).describe('hex SHA-256 of the secret'),
  scopes: Scopes,
  tenant: boundedString(MAX.id),
  client: boundedString(MAX.name).describe('client of the token; its id, unless an earlier token had that id'),
  sessions: SessionAccess.default('tenant').describe('sessions that the token may read and write'),
  lenient: z.boolean().default(false).describe('whether /v1 ignores unsupported fields'),
  budgets: SpendLimits.optional(),
  agents: AllowedAgents.optional(),
  mcpClient: McpClient.optional().describe('permissions at /mcp'),
  ver: z.int().positive(),
  expiresAt: Timestamp.optional(),
});
export type TokenProjection = z.infer<typeof TokenProjection>;

/** Value of `TOKENS_COMPLETE_KEY`. */
export const TokensCompleteMarker = z.strictObject({ told: z.literal(true) });

/** An agent as every service sees it, in the bucket `agents` under its tenant and id. */
export const AgentProjection = z.object({
  agentId: AgentId,
  tenant: boundedString(MAX.id),
  suspended: z.boolean(),
  isDefault: z.boolean(),
  /** The effective configuration: the section `agents.<id>` of the configuration, with its defaults. */
  config: z.record(z.string(), z.unknown()),
});
export type AgentProjection = z.infer<typeof AgentProjection>;

/** Which revisions of the watched buckets a replica runs, in the bucket `replicas` under `<service>.<replica>`. */
export const ReplicaReport = z.object({
  service: boundedString(MAX.id),
  replica: boundedString(MAX.id),
  revisions: z.record(boundedString(MAX.name), z.int().nonnegative()).check(maxKeys(MAX.many)).describe('by bucket name'),
});
export type ReplicaReport = z.infer<typeof ReplicaReport>;

/** Log levels until the next start, globally and by module, in the bucket `levels`. */
export const LogLevelOverrides = z.object({ all: LogLevel.optional(), modules: z.partialRecord(LogModule, LogLevel) });
export type LogLevelOverrides = z.infer<typeof LogLevelOverrides>;

/** One process, with everything that runs in it. */
const RestartedProcess = z.object({
  process: boundedString(MAX.id).describe('id of this run; changes with each start'),
  replicas: z.array(boundedString(MAX.name)).max(MAX.few).describe('`<service>.<replica>` of each service in the process'),
});

const ByService = z.record(boundedString(MAX.id), Count).check(maxKeys(MAX.few));

/** A restart of every process, one after the other: in the bucket `restart`. The registry writes it, every process reads whether it is its turn. */
export const RollingRestart = z.object({
  id: boundedString(MAX.id),
  state: z.enum(['running', 'done', 'stopped']),
  by: boundedString(MAX.name).describe('requesting client'),
  since: Timestamp,
  movedAt: Timestamp.describe('time of the last step'),
  /** Ready replicas of each service at the start. Each step of the restart waits for this number. */
  ready: ByService,
  restarted: z.array(boundedString(MAX.name)).max(MAX.many),
  waiting: z.array(RestartedProcess).max(MAX.many),
  /** The process that is restarting, the replicas required before the next process, and the time since which they are ready. */
  turn: RestartedProcess.extend({ needs: ByService, backAt: Timestamp.optional() }).optional(),
  reason: boundedString(MAX.line).optional().describe('reason of the stop'),
});
export type RollingRestart = z.infer<typeof RollingRestart>;
