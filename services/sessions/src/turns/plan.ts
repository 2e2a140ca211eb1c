import { ServiceError, type Principal, type TokenScope } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { resolveAgentModel, type ModelMessage, type ModelRef, type Models } from '@switchyard/models';
import type { Documents } from '@switchyard/store';
import type { Agent } from '../agents.ts';
import type { MessageDocument, StepRecord, TurnDocument } from '../data.ts';
import type { TurnPlan } from './loop.ts';
import { toolBox } from './tools.ts';

/** The model an agent speaks with: its own, else the one of the house (ARCHITECTURE 9.13). */
export async function modelOf(agent: Agent, models: Models): Promise<ModelRef> {
  const { model, provider } = agent.config;
  const found = await resolveAgentModel(models, { provider, model });
  if (found) return found;
  const name = provider === 'default' ? model : `${provider}/${model}`;
  throw new ServiceError('FAILED_PRECONDITION', `The agent ${agent.agentId} names the model ${name}, which no configured provider has.`, {
    details: { reason: 'MODEL_NOT_FOUND' },
  });
}

export interface PlanDeps {
  bus: Bus;
  models: Models;
  messages: Documents<MessageDocument>;
}

export interface PlanGiven {
  turn: TurnDocument;
  agent: Agent;
  principal: Principal;
  signal: AbortSignal;
  checkpoint: (steps: readonly StepRecord[]) => Promise<void>;
}

/** What a durable turn sends to its model: the recent conversation and the question. */
export async function planTurn(deps: PlanDeps, given: PlanGiven): Promise<TurnPlan> {
  const { turn, agent, principal } = given;
  const history = await recent(deps.messages, turn.sessionKey, agent.config.contextEngine.historyTurns);
  return {
    model: await modelOf(agent, deps.models),
    messages: [...history, { role: 'user', text: turn.message }],
    tools: toolBox(deps.bus, agentPrincipal(principal, turn), agent.config.skills.toolPolicy),
    maxSteps: agent.config.maxSteps,
    maxTokens: agent.config.budgets.perExecution,
    promptTimeoutMs: agent.config.promptTimeout.promptTimeoutMs,
    signal: given.signal,
    checkpoint: given.checkpoint,
    ...(agent.config.maxTokens === undefined ? {} : { maxOutputTokens: agent.config.maxTokens }),
    ...(agent.config.temperature === undefined ? {} : { temperature: agent.config.temperature }),
  };
}

/** Who a turn acts as: its caller, within the scopes of the turn, as that agent in that session. */
export function agentPrincipal(principal: Principal, turn: TurnDocument): Principal {
  return { ...principal, scopes: turn.scopes as TokenScope[], agent: turn.agentId, session: turn.sessionKey };
}

/** The last exchanges of a session, oldest first: a question and an answer each. */
async function recent(messages: Documents<MessageDocument>, sessionKey: string, turns: number): Promise<ModelMessage[]> {
  const { items } = await messages.find({ sessionKey }, { sort: [['seq', 'desc']], limit: turns * 2 });
  return items.toReversed().map(({ role, content }) => ({ role, text: content }));
}
