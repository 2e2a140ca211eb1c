import { z } from 'zod';
import { RESERVED_USER_PREFIXES, TOKEN_SCOPES } from './principal.ts';
import { MAX, boundedString } from './sizes.ts';

export const AgentId = z
  .string()
  .max(64)
  .regex(/^[a-z0-9_-]{1,64}$/)
  .describe('lower-case letters, digits, - and _');
/** The agent that performs the work. Methods about an agent return NOT_FOUND for an unknown one instead. */
export const ActingAgentId = AgentId.describe('default: the default agent; an unknown agent is INVALID_ARGUMENT');
/** An id that a caller chooses: of a token, a session or a job. */
export const CallerId = boundedString(MAX.id)
  .regex(/^[A-Za-z0-9._:@-]{1,128}$/)
  .describe('1 to 128 letters, digits and . _ : @ -');
export const TokenId = CallerId.describe('unique within its tenant: 1 to 128 letters, digits and . _ : @ -');
/** A client's id is also the user id of its sessions, so it must not look like that of the product's own sessions. */
export const NewTokenId = TokenId.refine((id) => RESERVED_USER_PREFIXES.every(({ prefix }) => !id.startsWith(prefix)), {
  error: `expected an id that begins with none of ${RESERVED_USER_PREFIXES.map(({ prefix }) => prefix).join(', ')}`,
});
/** Agents that a token is held to: it starts turns with no other, and sees nothing of theirs. */
export const AllowedAgents = z.array(AgentId).min(1).max(MAX.few).describe('agents that the token may use; default: all of its tenant');
/** A tenant that a token is made for. */
export const TokenTenant = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9._@-]{1,64}$/)
  .describe('another tenant; requires a token of scope * in the tenant of the installation');
/** Sessions that a token may read and write: all of its tenant, or those that it created. */
export const SessionAccess = z.enum(['tenant', 'own']);
export const Scope = z.enum(TOKEN_SCOPES);
export const Scopes = z.array(Scope).max(MAX.words);

export const SessionKey = z
  .string()
  .min(1)
  .max(2048)
  .describe('[agent:<id>:]<tenant>:<user>:<channel>[:peer:<p>][:guild:<g>][:thread:<t>]');

/** Parts of a session key. Missing parts are filled from the caller. The tenant is always that of the caller. */
export const SessionParts = z.strictObject({
  tenantId: z.string().min(1).max(64).optional(),
  userId: CallerId.optional(),
  channelId: CallerId.optional(),
  peerId: CallerId.optional(),
  guildId: CallerId.optional(),
  threadId: CallerId.optional(),
  agentId: AgentId.optional(),
});

export const Timestamp = z.int().nonnegative().describe('epoch milliseconds');
export const IsoTime = z.string().max(64).describe('ISO 8601 instant');

export const TokensUsed = z.object({ input: z.int().nonnegative(), output: z.int().nonnegative(), total: z.int().nonnegative() });

/** Limits that end a turn before it is complete. */
export const LIMIT_FINISH_REASONS = [
  'max_steps',
  'budget_exceeded',
  'budget_exhausted',
  'circuit_open',
  'provider_degraded',
  'context_loop',
  'context_exhausted',
  'output_starved',
] as const;

export const FinishReason = z.enum(['stop', 'end_turn', 'tool_calls', ...LIMIT_FINISH_REASONS, 'session_reset', 'error', 'command']);

/** A method that takes nothing still refuses what it does not know. */
export const NoParams = z.strictObject({});

export const JsonObject = z.record(z.string(), z.unknown());

/** A session as events name it: every part filled in. */
export const ResolvedSession = z.object({
  tenantId: boundedString(MAX.id),
  userId: boundedString(MAX.name),
  channelId: boundedString(MAX.id),
  peerId: boundedString(MAX.id).optional(),
  guildId: boundedString(MAX.id).optional(),
  threadId: boundedString(MAX.id).optional(),
  agentId: AgentId.optional(),
});

export const Count = z.int().nonnegative();
export const DurationMs = z.number().nonnegative().describe('milliseconds');
export const Usd = z.number().describe('US dollars');
export const Rate = z.number().min(0).max(1).describe('0 to 1');
/** A share of what was saved: below zero where saving cost more than it saved. */
export const SavingsRate = z.number().max(1).describe('at most 1; negative if caching cost more than it saved');

/** Bytes a caller sends inside JSON. */
export const Base64 = z
  .string()
  .min(1)
  .max(MAX.payload)
  .refine(isBase64, 'base64')
  .meta({ description: 'base64, standard or URL-safe, with or without padding; white space is ignored', contentEncoding: 'base64' });

/** The param that holds it. */
export const IDEMPOTENCY_KEY = 'idempotencyKey';
/** Two calls with the same key and the same body are one piece of work; kept for 24 hours per token and method. */
export const IdempotencyKey = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[!-~]*$/)
  .describe('1 to 256 visible ASCII characters');

/** How many items at most. A number out of range is brought back into it, not refused. */
export function pageSize(standard: number, max: number) {
  return z
    .int()
    .overwrite((requestCount) => Math.min(Math.max(requestCount, 1), max))
    .default(standard)
    .describe(`1 to ${max}; values outside are clamped`);
}

/** Checked in one pass, and without a pattern that could go back over a text of megabytes. */
function isBase64(text: string): boolean {
  const letters = text.replaceAll(/\s+/g, '').replace(/={1,2}$/, '');
  return letters !== '' && letters.length % 4 !== 1 && !/[^A-Za-z0-9+/_-]/.test(letters);
}
