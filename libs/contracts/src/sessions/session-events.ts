import { z } from 'zod';
import { AgentId, Count, DurationMs, ResolvedSession, SessionKey, Timestamp, Usd } from '../values/common.ts';
import { defineEvents } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const timestamp = Timestamp;
const runId = boundedString(MAX.id);
const task = boundedString(MAX.text);

const session = { tenantId: 'default', userId: 'alice', channelId: 'gateway' };
const spawn = {
  runId: 'run_4fT0mUq2Zs8KxY1bNcVdGh',
  parentSessionKey: 'default:alice:gateway',
  agentId: 'researcher',
  task: 'Compare the three offers.',
  timestamp: 1763719200000,
};

/** The life of sessions and of the sub-agent runs they start. */
export const sessionLifeEvents = defineEvents({
  'session:created': {
    summary: 'A session got its first message.',
    payload: z.object({ sessionKey: ResolvedSession, timestamp }),
    example: { sessionKey: session, timestamp: 1763719200000 },
  },
  'session:expired': {
    summary: 'A session was reset by its policy or on request.',
    payload: z.object({
      sessionKey: ResolvedSession,
      reason: boundedString(MAX.line).describe('auto-reset:daily, auto-reset:idle, auto-reset:daily+idle, gateway-reset or operator-reset'),
    }),
    example: { sessionKey: session, reason: 'auto-reset:daily' },
  },
  'session:sub_agent_spawned': {
    summary: 'A session requested a sub-agent run.',
    payload: z.object({ runId, parentSessionKey: SessionKey, agentId: AgentId, task, timestamp }),
    example: spawn,
  },
  'session:sub_agent_completed': {
    summary: 'A sub-agent run ended.',
    payload: z.object({
      runId,
      agentId: AgentId,
      success: z.boolean(),
      runtimeMs: DurationMs,
      tokensUsed: Count,
      cost: Usd,
      cacheReadTokens: Count.optional(),
      cacheWriteTokens: Count.optional(),
      timestamp,
    }),
    example: {
      runId: spawn.runId,
      agentId: 'researcher',
      success: true,
      runtimeMs: 8200,
      tokensUsed: 5120,
      cost: 0.0184,
      timestamp: 1763719208200,
    },
  },
  'session:sub_agent_archived': {
    summary: 'A finished sub-agent run left the list of recent runs.',
    payload: z.object({ runId, sessionKey: SessionKey, ageMs: DurationMs, timestamp }),
    example: {
      runId: spawn.runId,
      sessionKey: `default:sub-agent-${spawn.runId}:sub-agent:${spawn.runId}`,
      ageMs: 3600000,
      timestamp: 1763722808200,
    },
  },
  'session:sub_agent_spawn_rejected': {
    summary: 'A sub-agent run was rejected by a limit.',
    payload: z.object({
      parentSessionKey: SessionKey,
      agentId: AgentId,
      task,
      reason: z.enum(['depth_exceeded', 'children_exceeded', 'queue_full', 'queue_timeout']),
      currentDepth: Count,
      maxDepth: Count,
      currentChildren: Count,
      maxChildren: Count,
      timestamp,
    }),
    example: {
      parentSessionKey: spawn.parentSessionKey,
      agentId: 'researcher',
      task: spawn.task,
      reason: 'depth_exceeded',
      currentDepth: 3,
      maxDepth: 3,
      currentChildren: 1,
      maxChildren: 5,
      timestamp: spawn.timestamp,
    },
  },
  'session:sub_agent_spawn_started': {
    summary: 'A sub-agent run started.',
    payload: z.object({ runId, parentSessionKey: SessionKey, agentId: AgentId, task, depth: Count, timestamp }),
    example: { ...spawn, depth: 1 },
  },
  'session:sub_agent_spawn_queued': {
    summary: 'A sub-agent run waits for another run of its parent.',
    payload: z.object({
      runId,
      parentSessionKey: SessionKey,
      agentId: AgentId,
      task,
      queuePosition: Count,
      activeChildren: Count,
      maxChildren: Count,
      timestamp,
    }),
    example: { ...spawn, queuePosition: 1, activeChildren: 5, maxChildren: 5 },
  },
  'session:sub_agent_lifecycle_ended': {
    summary: 'A sub-agent run ended, with its reason.',
    payload: z.object({
      runId,
      agentId: AgentId,
      parentSessionKey: SessionKey,
      endReason: z.enum(['completed', 'failed', 'killed', 'swept', 'watchdog_timeout', 'ghost_sweep']),
      durationMs: DurationMs,
      tokensUsed: Count,
      cost: Usd,
      condensationLevel: z.int().min(1).max(3).optional(),
      timestamp,
    }),
    example: {
      runId: spawn.runId,
      agentId: 'researcher',
      parentSessionKey: spawn.parentSessionKey,
      endReason: 'completed',
      durationMs: 8200,
      tokensUsed: 5120,
      cost: 0.0184,
      condensationLevel: 1,
      timestamp: 1763719208200,
    },
  },
});
