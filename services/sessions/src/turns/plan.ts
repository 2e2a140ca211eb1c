import { ServiceError, type Principal, type TokenScope } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { resolveAgentModel, type ModelMessage, type ModelRef, type Models } from '@switchyard/models';
import type { Documents } from '@switchyard/store';
import type { Agent } from '../agents.ts';
import type { MessageDocument, TurnDocument } from '../data.ts';
import type { TurnPlan } from './loop.ts';
import { toolBox } from './tools.ts';

/** The model an agent speaks with: its own, else the one of the house. */
export async function modelOf(agent: Agent, models: Models): Promise<ModelRef> {
  const { model, provider } = agent.config;
  const found = await resolveAgentModel(models, { provider, model });
  if (found) return found;
  const name = provider === 'default' ? model : `${provider}/${model}`;
  throw new ServiceError('FAILED_PRECONDITION', `The agent ${agent.agentId} names the model ${name}, which no configured provider has.`, {
    details: { reason: 'MODEL_NOT_FOUND' },
  });
}

/** What the configuration of an agent says about each of its turns. */
export function limitsOf({ config }: Agent) {
  return {
    maxSteps: config.maxSteps,
    maxTokens: config.budgets.perExecution,
    promptTimeoutMs: config.promptTimeout.promptTimeoutMs,
    ...(config.maxTokens === undefined ? {} : { maxOutputTokens: config.maxTokens }),
    ...(config.temperature === undefined ? {} : { temperature: config.temperature }),
  } satisfies Partial<TurnPlan>;
}

export interface PlanDeps {
  bus: Bus;
  messages: Documents<MessageDocument>;
}

export interface PlanGiven {
  turn: TurnDocument;
  agent: Agent;
  model: ModelRef;
  principal: Principal;
  /** The span of the turn. */
  traceparent: string | undefined;
}

/** What a durable turn sends to its model: the recent conversation and the question. */
export async function planTurn(deps: PlanDeps, given: PlanGiven): Promise<Omit<TurnPlan, 'signal'>> {
  const { turn, agent, model, principal, traceparent } = given;
  return {
    model,
    messages: [...(await recent(deps.messages, turn, agent)), { role: 'user', text: turn.message }],
    tools: toolBox(deps.bus, agentPrincipal(principal, turn), agent.config, { requestId: turn.requestId, traceparent }),
    traceparent,
    ...limitsOf(agent),
  };
}

/** Who a turn acts as: its caller, within the scopes of the turn, as that agent in that session. */
function agentPrincipal(principal: Principal, turn: TurnDocument): Principal {
  return { ...principal, scopes: turn.scopes as TokenScope[], agent: turn.agentId, session: turn.sessionKey };
}

/** The last exchanges of a session, oldest first, as many as the agent's context takes: a question and an answer each. */
async function recent(
  messages: Documents<MessageDocument>,
  { sessionKey, message }: TurnDocument,
  { config }: Agent,
): Promise<ModelMessage[]> {
  const limit = config.contextEngine.historyTurns * 2;
  const { items } = await messages.find({ sessionKey }, { sort: [['seq', 'desc']], limit });
  let room = config.maxContextChars - message.length;
  const cut = items.findIndex(({ content }) => (room -= content.length) < 0);
  // An answer without its question is no exchange.
  const kept = cut === -1 ? items : items.slice(0, cut - (cut % 2));
  return kept.toReversed().map(({ role, content }) => ({ role, text: content }));
}
