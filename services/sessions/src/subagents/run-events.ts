import type { OutboxEvent } from '@switchyard/store';
import type { EventPayload } from '@switchyard/contracts';
import type { RunDocument } from './run-document.ts';

/** Characters of a task in an event. */
const MAX_TASK_CHARS = 2_000;

export interface SpawnLimits {
  currentDepth: number;
  maxDepth: number;
  currentChildren: number;
  maxChildren: number;
}

type Spawned = Pick<RunDocument, 'parentKey' | 'agentId' | 'task'>;

function describeSpawn({ parentKey, agentId, task }: Spawned) {
  return { parentSessionKey: parentKey, agentId, task: task.slice(0, MAX_TASK_CHARS).toWellFormed() };
}

export function spawnedEvent(run: RunDocument): OutboxEvent {
  return { name: 'session:sub_agent_spawned', payload: { runId: run.runId, ...describeSpawn(run), timestamp: run.createdAt } };
}

export function startedEvent(run: RunDocument, timestamp: number): OutboxEvent {
  return { name: 'session:sub_agent_spawn_started', payload: { runId: run.runId, ...describeSpawn(run), depth: run.depth, timestamp } };
}

export function queuedEvent(run: RunDocument, more: { queuePosition: number; activeChildren: number; maxChildren: number }): OutboxEvent {
  return {
    name: 'session:sub_agent_spawn_queued',
    payload: { runId: run.runId, ...describeSpawn(run), ...more, timestamp: run.createdAt },
  };
}

export function rejection(
  run: Spawned,
  reason: EventPayload<'session:sub_agent_spawn_rejected'>['reason'],
  limits: SpawnLimits,
  timestamp: number,
): EventPayload<'session:sub_agent_spawn_rejected'> {
  return { ...describeSpawn(run), reason, ...limits, timestamp };
}

/** Returns the events of the write that ends a run. */
export function endedEvents(run: RunDocument & { finishedAt: number; endReason: string }, condensationLevel?: number): OutboxEvent[] {
  const { runId, agentId, parentKey, endReason, finishedAt, startedAt = finishedAt, tokens, costUsd: cost = 0 } = run;
  const durationMs = Math.max(0, finishedAt - startedAt);
  const tokensUsed = tokens?.total ?? 0;
  const cached = tokens && { cacheReadTokens: tokens.cacheRead, cacheWriteTokens: tokens.cacheWrite };
  const success = endReason === 'completed';
  const level = condensationLevel === undefined ? {} : { condensationLevel };
  return [
    {
      name: 'session:sub_agent_completed',
      payload: { runId, agentId, success, runtimeMs: durationMs, tokensUsed, cost, ...cached, timestamp: finishedAt },
    },
    {
      name: 'session:sub_agent_lifecycle_ended',
      payload: { runId, agentId, parentSessionKey: parentKey, endReason, durationMs, tokensUsed, cost, ...level, timestamp: finishedAt },
    },
  ];
}

export function archivedEvent({ runId, sessionKey, finishedAt = 0 }: RunDocument, timestamp: number): OutboxEvent {
  return { name: 'session:sub_agent_archived', payload: { runId, sessionKey, ageMs: Math.max(0, timestamp - finishedAt), timestamp } };
}
