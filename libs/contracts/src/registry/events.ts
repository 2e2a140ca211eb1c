import { z } from 'zod';
import { AgentId, Count, DurationMs, Timestamp } from '../values/common.ts';
import { defineEvents } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

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
      fromProvider: boundedString(MAX.name),
      fromModel: boundedString(MAX.name),
      toProvider: boundedString(MAX.name),
      toModel: boundedString(MAX.name),
      error: boundedString(MAX.line),
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
      provider: boundedString(MAX.name),
      model: boundedString(MAX.name),
      totalAttempts: z.int().positive(),
      timestamp,
    }),
    example: { provider: 'anthropic', model: 'claude-sonnet-4-5', totalAttempts: 6, timestamp: 1763719200000 },
  },
  'model:auth_cooldown': {
    summary: 'A provider rejected a key, which is paused.',
    payload: z.object({
      keyName: boundedString(MAX.name),
      provider: boundedString(MAX.name),
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
    payload: z.object({ provider: boundedString(MAX.name), failingAgents: Count, timestamp }),
    example: { provider: 'openai', failingAgents: 2, timestamp: 1763719200000 },
  },
  'provider:recovered': {
    summary: 'A degraded provider recovered.',
    payload: z.object({ provider: boundedString(MAX.name), timestamp }),
    example: { provider: 'openai', timestamp: 1763719260000 },
  },
});

/** Changes of the control plane. */
export const registryEvents = defineEvents({
  'config:patched': {
    summary: 'A configuration change took effect.',
    payload: z.object({
      section: boundedString(MAX.name),
      key: boundedString(MAX.line).optional(),
      patchedBy: boundedString(MAX.name),
      timestamp,
      sha: boundedString(MAX.name).optional().describe('version of the change'),
      reason: boundedString(MAX.line).optional().describe('reason of the automatic rollback'),
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
