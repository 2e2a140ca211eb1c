import type { Handler } from '@switchyard/bus';
import { canUseAgent, ServiceError, type Principal, type TurnRecording } from '@switchyard/contracts';
import type { Models } from '@switchyard/models';
import type { Collection } from '@switchyard/store';
import type { Agent, AgentDirectory } from '../agents/agent-directory.ts';
import { getTurnModel } from '../agents/agent-model.ts';
import { getAgentLimits, type CreateToolBox } from '../agent-loop/turn-planner.ts';
import { compactTools } from '../agent-loop/tool-list-compaction.ts';
import { applyCap, getModelWindow } from '../context-window/context-window.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { hasEnded, type TurnDocument } from '../model/turn-document.ts';
import { turnNotFound } from '../model/session-ownership.ts';
import { narrowScopes } from '../model/turn-principal.ts';
import { recordTurn } from '../replay/record-turn.ts';
import { replayTurn, type ReplaySetup } from '../replay/replay-turn.ts';
import type { ToolBox } from '../tools/toolbox.ts';

export interface TurnsReplayDeps {
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  agents: AgentDirectory;
  models: Models;
  tools: CreateToolBox;
  documentation: () => string | undefined;
}

/** Returns a turn of the tenant that has ended. Only administrators reach it, because it contains texts of all clients. */
export function turnsRecord(deps: TurnsReplayDeps): Handler<'turns.record'> {
  return async ({ turnId }, { principal }) => {
    const turn = await deps.turns.for(principal).get(turnId);
    if (!turn || !canUseAgent(principal, turn.agentId)) throw turnNotFound();
    if (!hasEnded(turn)) throw new ServiceError('FAILED_PRECONDITION', 'The turn has not ended yet. Record it after its end.');
    const bodies = deps.bodies.for(principal);
    const recorded = await recordTurn(bodies, turn, { system: undefined, specs: [] });
    const agent = deps.agents.find(principal.tenant, turn.agentId);
    if (!agent) return { recording: recorded };
    const { specs } = await openTools(deps, { agent, principal, recording: recorded });
    return { recording: await recordTurn(bodies, turn, { system: deps.documentation(), specs }) };
  };
}

export function turnsReplay(deps: TurnsReplayDeps): Handler<'turns.replay'> {
  return async ({ recording }, { principal, signal }) => {
    const { agentId } = recording;
    const agent = canUseAgent(principal, agentId) ? deps.agents.find(principal.tenant, agentId) : undefined;
    if (!agent) throw new ServiceError('NOT_FOUND', `Agent ${agentId} of the recording does not exist.`);
    const model = await getTurnModel(agent, deps.models, recording.model);
    const { maxSteps, maxTokens, maxCostUsd, promptTimeoutMs, maxRepeats } = getAgentLimits(agent);
    const setup: ReplaySetup = {
      model,
      system: deps.documentation(),
      tools: await openTools(deps, { agent, principal, recording }),
      limits: { maxSteps, maxTokens, maxCostUsd, promptTimeoutMs, maxRepeats },
      signal,
    };
    return replayTurn(recording, setup);
  };
}

interface OpenToolsOptions {
  agent: Agent;
  principal: Principal;
  recording: TurnRecording;
}

/** Opens the tools that the turn would be offered now. They are listed and never called. */
async function openTools({ models, tools }: TurnsReplayDeps, { agent, principal, recording }: OpenToolsOptions): Promise<ToolBox> {
  const { turnId, sessionKey, scopes, narrowing, hasHistoryTools } = recording;
  const model = await getTurnModel(agent, models, recording.model);
  const caller = {
    ...principal,
    scopes: narrowScopes(principal.scopes, scopes),
    agent: agent.agentId,
    session: sessionKey,
  };
  const toolBox = tools(caller, agent.config, {
    turnId,
    remainingMs: () => 0,
    countsExecutions: model.provider === 'dev',
    store: () => Promise.reject(new ServiceError('INTERNAL', 'a replay stores no result')),
    hasStored: false,
    hasHistoryTools,
    canPark: true,
    narrowing,
  });
  return compactTools(toolBox, applyCap(await getModelWindow(models, model), agent), agent.config.contextEngine);
}
