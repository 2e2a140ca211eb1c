import {
  canUseAgent,
  invalidParams,
  ServiceError,
  TOOL_PROFILES,
  type Principal,
  type Result,
  type TurnTools,
} from '@switchyard/contracts';
import { deriveId, mintId } from '@switchyard/security';
import { toStoredPrincipal } from '@switchyard/service-kit';
import { newWork } from '@switchyard/work';
import type { Agent } from '../agents/agent-directory.ts';
import { parseEntry } from '../model/queue-entry.ts';
import { loadRemainingTools } from '../model/remaining-tools.ts';
import { getRunSession } from '../model/run-session.ts';
import type { SessionDocument } from '../model/session-document.ts';
import { formatSessionKey } from '../model/session-key.ts';
import { requireSession } from '../sessions/session-directory.ts';
import { agentSuspended } from '../turns/store/turn-errors.ts';
import { queuedEvent, rejection, spawnedEvent, startedEvent, type SpawnLimits } from './run-events.ts';
import { ACTIVE, hasRunEnded, isRunQueued, listFreePlaces, QUEUED, type RunDocument } from './run-document.ts';
import type { RunWorkDeps } from './run-deps.ts';

export interface SpawnRequest {
  parentKey: string;
  task: string;
  agentId?: string | undefined;
  /** The goal that the task serves. */
  objective?: string | undefined;
  /** Key of the tool call. A repeated call returns the same run. */
  key?: string | undefined;
}

/** Emits an event that belongs to no stored document. */
export type EmitRejection = (payload: ReturnType<typeof rejection>) => void;

const MAX_SIBLINGS = 100;

/** Stores a run, or rejects it by depth, children or queue. */
export async function spawnRun(
  deps: RunWorkDeps,
  principal: Principal,
  request: SpawnRequest,
  emitRejection: EmitRejection,
): Promise<Result<'session.spawn'>> {
  const { tenant } = principal;
  const { subagentContext, enabled } = deps.settings();
  const parent = await requireSession(deps.sessions, principal, request.parentKey);
  if (!enabled) throw new ServiceError('FAILED_PRECONDITION', 'Sub-agents are disabled. Set security.agentToAgent.enabled to true.');
  const agent = findAgent(deps, principal, request.agentId ?? parent.agentId);
  const runId = request.key === undefined ? mintId('run') : deriveId('run', tenant, principal.client, request.key);
  const existing = await deps.runs.for({ tenant }).get(runId);
  if (existing) return toSpawned(existing);
  const [parentRun] = (await deps.runs.for({ tenant }).find({ sessionKey: parent.key }, { limit: 1 })).items;
  if (parentRun && hasRunEnded(parentRun)) throw runHasEnded(parentRun);
  const depth = (parentRun?.depth ?? 0) + 1;
  const base = { runId, parentKey: parent.key, agentId: agent.agentId, task: request.task };
  const tools = narrowTools(deps, await findParentTools(deps, tenant, parent));
  for (;;) {
    const siblings = await listOpenChildren(deps, tenant, parent.key);
    const limits: SpawnLimits = {
      currentDepth: depth - 1,
      maxDepth: subagentContext.maxSpawnDepth,
      currentChildren: siblings.filter((run) => !isRunQueued(run)).length,
      maxChildren: subagentContext.maxChildrenPerAgent,
    };
    const refuse = (reason: 'depth_exceeded' | 'children_exceeded' | 'queue_full'): ServiceError => {
      emitRejection(rejection(base, reason, limits, deps.now()));
      return spawnRejected(reason, limits);
    };
    if (depth > limits.maxDepth) throw refuse('depth_exceeded');
    const queued = siblings.filter(isRunQueued);
    const [active] = queued.length > 0 ? [] : listFreePlaces(ACTIVE, limits.maxChildren, siblings);
    const [waiting] = listFreePlaces(QUEUED, subagentContext.maxQueuedPerAgent, siblings);
    const place = active ?? waiting;
    if (place === undefined) throw refuse(subagentContext.maxQueuedPerAgent === 0 ? 'children_exceeded' : 'queue_full');
    const createdAt = deps.now();
    const run: RunDocument = {
      ...newWork(),
      ...base,
      parentEpoch: parent.epoch,
      ...(parentRun && { parentRunId: parentRun.runId }),
      childOf: parent.key,
      place,
      sessionKey: formatSessionKey(getRunSession(tenant, agent.agentId, runId)),
      depth,
      principal: toStoredPrincipal(principal),
      tools,
      message: describeTask(request, subagentContext.objectiveReinforcement),
      turnIds: [],
      steeredAt: 0,
      createdAt,
      openSince: createdAt,
      ...(active === undefined ? {} : { startedAt: createdAt }),
    };
    const position = { queuePosition: queued.length + 1, activeChildren: limits.currentChildren, maxChildren: limits.maxChildren };
    const second = active === undefined ? queuedEvent(run, position) : startedEvent(run, createdAt);
    const stored = await store(deps, tenant, run, [spawnedEvent(run), second]);
    if (!stored) continue;
    deps.work().startDue();
    return toSpawned(stored);
  }
}

/** Returns undefined if another run took the place. */
async function store(
  { work }: RunWorkDeps,
  tenant: string,
  run: RunDocument,
  emit: ReturnType<typeof spawnedEvent>[],
): Promise<RunDocument | undefined> {
  try {
    return (await work().add({ tenant }, run, { emit })).document;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ABORTED') return undefined;
    throw error;
  }
}

export async function listOpenChildren({ runs }: RunWorkDeps, tenant: string, parentKey: string): Promise<RunDocument[]> {
  const { items } = await runs
    .for({ tenant })
    .find({ childOf: parentKey, endReason: null }, { sort: [['createdAt', 'asc']], limit: MAX_SIBLINGS });
  return items;
}

function findAgent({ agents, settings }: RunWorkDeps, principal: Principal, agentId: string): Agent {
  const { allowAgents } = settings();
  const agent = canUseAgent(principal, agentId) ? agents.find(principal.tenant, agentId) : undefined;
  if (!agent) throw new ServiceError('INVALID_ARGUMENT', `Unknown agent: ${agentId}`, { details: { reason: 'UNKNOWN_AGENT' } });
  if (allowAgents.length > 0 && !allowAgents.includes(agentId)) {
    const message = `agentId: expected an agent of security.agentToAgent.allowAgents, got ${agentId}. Choose one of the list or add it.`;
    throw invalidParams([
      { path: 'agentId', expected: 'an agent of security.agentToAgent.allowAgents', received: 'another agent', message },
    ]);
  }
  if (agent.suspended) throw agentSuspended(agentId);
  return agent;
}

/** Returns the narrowing of the turn that runs in the parent's session, by its order and by the skills that it has used. */
async function findParentTools({ turns, bodies }: RunWorkDeps, tenant: string, { queue }: SessionDocument): Promise<TurnTools> {
  const head = queue[0];
  const turn = head === undefined ? null : await turns.for({ tenant }).get(parseEntry(head).turnId);
  return (turn && (await loadRemainingTools(bodies.for({ tenant }), turn))) ?? {};
}

/** A run has the tools of the settings, unless its caller was narrowed itself: then it has what its caller has. */
function narrowTools({ settings }: RunWorkDeps, parent: TurnTools): TurnTools {
  const { subAgentToolGroups, subAgentMcpTools } = settings();
  const [profile = 'minimal', ...others] = subAgentToolGroups;
  const own = { profile, allow: others.flatMap((name): readonly string[] => TOOL_PROFILES[name]) };
  const isNarrowed = parent.profile !== undefined && parent.profile !== 'full';
  return {
    ...(isNarrowed ? { profile: parent.profile, ...(parent.allow && { allow: parent.allow }) } : own),
    ...(parent.deny && { deny: parent.deny }),
    ...(parent.within && { within: parent.within }),
    ...(subAgentMcpTools === 'none' ? { mcpServers: [] } : parent.mcpServers && { mcpServers: parent.mcpServers }),
  };
}

/** Returns the text that the sub-agent reads first. */
function describeTask({ task, objective }: SpawnRequest, withObjective: boolean): string {
  return objective === undefined || !withObjective ? task : `Objective: ${objective}\n\n${task}`;
}

function toSpawned(run: RunDocument): Result<'session.spawn'> {
  const { runId, sessionKey, agentId } = run;
  const queued = isRunQueued(run);
  return { runId, sessionKey, agentId, status: queued ? 'queued' : 'running', async: true, ...(queued ? { queued } : {}) };
}

function spawnRejected(reason: string, { currentDepth, maxDepth, currentChildren, maxChildren }: SpawnLimits): ServiceError {
  const message =
    reason === 'depth_exceeded'
      ? `A sub-agent at depth ${currentDepth} may not start another one; the limit is ${maxDepth}. Do the task in this run.`
      : `This session has ${currentChildren} of ${maxChildren} sub-agents and no room in its queue. Wait until one of them has ended.`;
  return new ServiceError('RESOURCE_EXHAUSTED', message, { details: { reason: reason.toUpperCase(), retryable: false } });
}

export function runHasEnded({ runId, endReason = 'completed' }: RunDocument): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `Run ${runId} has ended: ${endReason}.`, { details: { reason: 'RUN_ENDED', endReason } });
}
