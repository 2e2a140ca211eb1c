import { ServiceError, type Principal, type TokenScope } from '@switchyard/contracts';
import { resolveAgentModel, type ModelMessage, type ModelRef, type Models } from '@switchyard/models';
import type { Documents } from '@switchyard/store';
import type { Agent } from '../agents.ts';
import type { TurnDocument } from '../data.ts';
import { texts, type Bodies } from './bodies.ts';
import { leaseLost, type Hold } from './hold.ts';
import { leftOutText } from './left-out.ts';
import type { TurnPlan } from './loop.ts';
import type { ToolBox, ToolTurn } from './tools.ts';
import type { Recall } from './recall.ts';
import { charsOf, spoken } from './spoken.ts';

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

/** The tools of an agent that acts for a principal. */
export type ToolsOf = (principal: Principal, config: Agent['config'], turn: ToolTurn) => ToolBox;

export interface PlanDeps {
  tools: ToolsOf;
  turns: Documents<TurnDocument>;
  bodies: Bodies;
  recall: Recall;
  /** What stands before the question, asked with its text. */
  remind?: (question: string) => Promise<ModelMessage | undefined>;
}

export interface PlanGiven {
  turn: TurnDocument;
  hold: Hold;
  agent: Agent;
  model: ModelRef;
  principal: Principal;
  /** The span of the turn. */
  traceparent: string | undefined;
  /** Milliseconds that are left of the turn. */
  left: () => number;
  /** What is asked. */
  text: string;
}

/** What a durable turn sends to its model: the recent conversation and the question. */
export async function planTurn(deps: PlanDeps, given: PlanGiven): Promise<Omit<TurnPlan, 'signal'>> {
  const { turn, hold, agent, model, principal, traceparent, left, text } = given;
  const toolTurn = { turnId: turn.turnId, requestId: turn.requestId, traceparent, left, counted: model.provider === 'dev' };
  const [before, leftOut, reminder] = await Promise.all([recent(deps, given), leftOutText(deps.turns, turn), deps.remind?.(text)]);
  return {
    model,
    messages: [...before, ...asked(leftOut), ...(reminder ? [reminder] : []), { role: 'user', text }],
    tools: whileHeld(deps.tools(agentPrincipal(principal, turn), agent.config, toolTurn), hold),
    traceparent,
    ...limitsOf(agent),
  };
}

function asked(text: string | undefined): ModelMessage[] {
  return text === undefined ? [] : [{ role: 'user', text }];
}

/** A runner that was paused learns here that its lease is over, before a tool does anything for it. */
function whileHeld(tools: ToolBox, hold: Hold): ToolBox {
  return {
    ...tools,
    async use(call, using) {
      if (!hold.held()) throw leaseLost();
      return tools.use(call, using);
    },
  };
}

/** Who a turn acts as: its caller, within the scopes of the turn, as that agent in that session. */
function agentPrincipal(principal: Principal, turn: TurnDocument): Principal {
  return { ...principal, scopes: turn.scopes as TokenScope[], agent: turn.agentId, session: turn.sessionKey };
}

/** The last exchanges of a session, oldest first, as many as the agent's context takes: a question and an answer each. */
async function recent({ turns, bodies, recall }: PlanDeps, { turn, hold, agent }: PlanGiven): Promise<ModelMessage[]> {
  const { contextEngine, maxContextChars } = agent.config;
  const last = await recall.last(turns, hold, contextEngine.historyTurns);
  let room = maxContextChars - turn.message.chars;
  const cut = last.findIndex((exchange) => (room -= charsOf(exchange)) < 0);
  const kept = (cut === -1 ? last : last.slice(0, cut)).toReversed().flatMap(spoken);
  const said = await texts(bodies, kept);
  return kept.map(({ role }, at) => ({ role, text: said[at] ?? '' }));
}
