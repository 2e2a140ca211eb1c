import { z } from 'zod';
import { TOKEN_SCOPES } from './principal.ts';

export const AgentId = z
  .string()
  .regex(/^[a-z0-9_-]{1,64}$/)
  .describe('lower-case letters, digits, - and _');
export const TokenId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);
export const Scope = z.enum(TOKEN_SCOPES);

export const SessionKey = z
  .string()
  .min(1)
  .max(2048)
  .describe('[agent:<id>:]<tenant>:<user>:<channel>[:peer:<p>][:guild:<g>][:thread:<t>]');

/** Who speaks where; what is left out is filled from the caller. The tenant never comes from here. */
export const SessionParts = z.strictObject({
  tenantId: z.string().min(1).max(64).optional(),
  userId: z.string().min(1).max(128).optional(),
  channelId: z.string().min(1).max(128).optional(),
  peerId: z.string().min(1).max(128).optional(),
  guildId: z.string().min(1).max(128).optional(),
  threadId: z.string().min(1).max(128).optional(),
  agentId: AgentId.optional(),
});

export const Timestamp = z.int().nonnegative().describe('epoch milliseconds');
export const IsoTime = z.string().describe('ISO 8601 instant');

export const TokensUsed = z.object({ input: z.int().nonnegative(), output: z.int().nonnegative(), total: z.int().nonnegative() });

export const FinishReason = z.enum([
  'stop',
  'end_turn',
  'tool_calls',
  'max_steps',
  'budget_exceeded',
  'budget_exhausted',
  'circuit_open',
  'provider_degraded',
  'context_loop',
  'context_exhausted',
  'output_starved',
  'session_reset',
  'error',
  'command',
]);

/** A method that takes nothing still refuses what it does not know. */
export const NoParams = z.strictObject({});

export const JsonObject = z.record(z.string(), z.unknown());

/** A session as events name it: every part filled in. */
export const ResolvedSession = z.object({
  tenantId: z.string(),
  userId: z.string(),
  channelId: z.string(),
  peerId: z.string().optional(),
  guildId: z.string().optional(),
  threadId: z.string().optional(),
  agentId: AgentId.optional(),
});

export const Count = z.int().nonnegative();
export const DurationMs = z.number().nonnegative().describe('milliseconds');
export const Usd = z.number().describe('US dollars');
export const Rate = z.number().min(0).max(1).describe('0 to 1');

/** Bytes a caller sends inside JSON. */
export const Base64 = z.base64().min(1).describe('base64, padded');

/** Two calls with the same key and the same body are one piece of work; kept for 24 hours per token and method. */
export const IdempotencyKey = z.string().min(1).max(256);

/** How many items at most. A number out of range is brought back into it, not refused. */
export function pageSize(standard: number, most: number) {
  return z
    .int()
    .overwrite((asked) => Math.min(Math.max(asked, 1), most))
    .default(standard)
    .describe(`1 to ${most}; beyond that the nearest of the two`);
}
