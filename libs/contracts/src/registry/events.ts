import { z } from 'zod';
import { AgentId, Count, DurationMs, Timestamp } from '../common.ts';
import { defineEvents } from '../define.ts';

const timestamp = Timestamp;

const modelEvents = defineEvents({
  'model:catalog_loaded': {
    summary: 'The catalogue of models was read.',
    payload: z.object({ providerCount: Count, modelCount: Count, timestamp }),
    example: { providerCount: 27, modelCount: 949, timestamp: 1763719200000 },
  },
  'model:fallback_attempt': {
    summary: 'A model failed and the next one of the chain is tried.',
    payload: z.object({
      fromProvider: z.string(),
      fromModel: z.string(),
      toProvider: z.string(),
      toModel: z.string(),
      error: z.string(),
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
    payload: z.object({ provider: z.string(), model: z.string(), totalAttempts: z.int().positive(), timestamp }),
    example: { provider: 'anthropic', model: 'claude-sonnet-4-5', totalAttempts: 6, timestamp: 1763719200000 },
  },
  'model:auth_cooldown': {
    summary: 'A provider key was refused and rests for a while.',
    payload: z.object({
      keyName: z.string(),
      provider: z.string(),
      cooldownMs: DurationMs,
      failureCount: z.int().positive(),
      timestamp,
    }),
    example: { keyName: 'OPENAI_API_KEY', provider: 'openai', cooldownMs: 60000, failureCount: 1, timestamp: 1763719200000 },
  },
});

const providerEvents = defineEvents({
  'provider:degraded': {
    summary: 'A provider fails for several agents, or again and again.',
    payload: z.object({ provider: z.string(), failingAgents: Count, timestamp }),
    example: { provider: 'openai', failingAgents: 2, timestamp: 1763719200000 },
  },
  'provider:recovered': {
    summary: 'A provider that was degraded answers again.',
    payload: z.object({ provider: z.string(), timestamp }),
    example: { provider: 'openai', timestamp: 1763719260000 },
  },
});

/** What changes in the control plane. */
export const registryEvents = defineEvents({
  'config:patched': {
    summary: 'A part of the configuration changed and is in force.',
    payload: z.object({ section: z.string(), key: z.string().optional(), patchedBy: z.string(), timestamp }),
    example: { section: 'gateway', key: 'rateLimit.maxRequests', patchedBy: 'operator', timestamp: 1763719200000 },
  },
  ...modelEvents,
  ...providerEvents,
  'agent:hot_added': {
    summary: 'An agent was created and takes messages.',
    payload: z.object({ agentId: AgentId, timestamp }),
    example: { agentId: 'researcher', timestamp: 1763719200000 },
  },
  'agent:hot_removed': {
    summary: 'An agent was deleted and takes no more messages.',
    payload: z.object({ agentId: AgentId, timestamp }),
    example: { agentId: 'researcher', timestamp: 1763719200000 },
  },
});
