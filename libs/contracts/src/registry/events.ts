import { z } from 'zod';
import { AgentId, Count, DurationMs, Timestamp } from '../values/common.ts';
import { defineEvents } from '../definition/define.ts';
import { MAX, upTo } from '../values/sizes.ts';

const timestamp = Timestamp;

const modelEvents = defineEvents({
  'model:catalog_loaded': {
    summary: 'The model catalogue was loaded.',
    payload: z.object({ providerCount: Count, modelCount: Count, timestamp }),
    example: { providerCount: 27, modelCount: 949, timestamp: 1763719200000 },
  },
  'model:fallback_attempt': {
    summary: 'A model failed, and the next one of the chain is called.',
    payload: z.object({
      fromProvider: upTo(MAX.name),
      fromModel: upTo(MAX.name),
      toProvider: upTo(MAX.name),
      toModel: upTo(MAX.name),
      error: upTo(MAX.line),
      attemptNumber: z.int().positive(),
      timestamp,
    }),
    example: {
      fromProvider: 'openai',
      fromModel: 'gpt-5',
      toProvider: 'anthropic',
      toModel: 'claude-sonnet-4-5',
      error: 'rate limited',
      attemptNumber: 1,
      timestamp: 1763719200000,
    },
  },
  'model:fallback_exhausted': {
    summary: 'Every model of the chain failed.',
    payload: z.object({
      provider: upTo(MAX.name),
      model: upTo(MAX.name),
      totalAttempts: z.int().positive(),
      timestamp,
    }),
    example: { provider: 'anthropic', model: 'claude-sonnet-4-5', totalAttempts: 6, timestamp: 1763719200000 },
  },
  'model:auth_cooldown': {
    summary: 'A provider rejected a key, which is paused.',
    payload: z.object({
      keyName: upTo(MAX.name),
      provider: upTo(MAX.name),
      cooldownMs: DurationMs,
      failureCount: z.int().positive(),
      timestamp,
    }),
    example: { keyName: 'OPENAI_API_KEY', provider: 'openai', cooldownMs: 60000, failureCount: 1, timestamp: 1763719200000 },
  },
});

const providerEvents = defineEvents({
  'provider:degraded': {
    summary: 'A provider failed for several agents or repeatedly.',
    payload: z.object({ provider: upTo(MAX.name), failingAgents: Count, timestamp }),
    example: { provider: 'openai', failingAgents: 2, timestamp: 1763719200000 },
  },
  'provider:recovered': {
    summary: 'A degraded provider recovered.',
    payload: z.object({ provider: upTo(MAX.name), timestamp }),
    example: { provider: 'openai', timestamp: 1763719260000 },
  },
});

/** What changes in the control plane. */
export const registryEvents = defineEvents({
  'config:patched': {
    summary: 'A configuration change took effect.',
    payload: z.object({
      section: upTo(MAX.name),
      key: upTo(MAX.line).optional(),
      patchedBy: upTo(MAX.name),
      timestamp,
      sha: upTo(MAX.name).optional().describe('version of the change'),
      reason: upTo(MAX.line).optional().describe('reason of the automatic rollback'),
    }),
    example: { section: 'gateway', key: 'rateLimit.maxRequests', patchedBy: 'operator', timestamp: 1763719200000 },
  },
  ...modelEvents,
  ...providerEvents,
  'agent:hot_added': {
    summary: 'An agent was created and accepts messages.',
    payload: z.object({ agentId: AgentId, timestamp }),
    example: { agentId: 'researcher', timestamp: 1763719200000 },
  },
  'agent:hot_removed': {
    summary: 'An agent was deleted and rejects messages.',
    payload: z.object({ agentId: AgentId, timestamp }),
    example: { agentId: 'researcher', timestamp: 1763719200000 },
  },
});
