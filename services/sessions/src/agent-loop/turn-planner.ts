import type { Principal, TokenScope } from '@switchyard/contracts';
import type { ModelMessage, ModelRef, Models } from '@switchyard/models';
import type { Agent } from '../agents/agent-directory.ts';
import { compactTools } from './tool-list-compaction.ts';
import type { WindowGuard } from '../context-window/window-guard.ts';
import { recent, type RecentDeps } from '../context/recent-history.ts';
import { leastAnswer, windowOf, type ModelWindow } from '../context-window/context-window.ts';
import { trimmingOf } from './tool-result-trimming.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { keepApart } from '../model/stored-text.ts';
import type { Witness } from './turn-trace.ts';
import { leaseLost, type Hold } from '../queue/session-lease.ts';
import type { Standing } from '../model/checkpoint-log.ts';
import { leftOutText } from '../queue/dropped-messages.ts';
import type { TurnPlan } from './turn-plan.ts';
import { withBreaker } from './tool-circuit-breaker.ts';
import type { ToolBox, ToolTurn } from './toolbox.ts';

/** Limits from the agent's configuration. */
export function limitsOf({ config }: Agent) {
  const { postBatchContinuation } = config.contextEngine;
  return {
    maxSteps: config.maxSteps,
    maxTokens: config.budgets.perExecution,
    maxCostUsd: config.budgets.perExecutionUsd,
    promptTimeoutMs: config.promptTimeout.promptTimeoutMs,
    maxRepeats: config.contextGuard.enabled ? config.contextGuard.maxRepeats : undefined,
    finalOnly: config.enforceFinalTag,
    followUps: postBatchContinuation.enabled ? postBatchContinuation.maxRetries : undefined,
    trim: trimmingOf(config.contextEngine),
    ...(config.maxTokens === undefined ? {} : { maxOutputTokens: config.maxTokens }),
    ...(config.temperature === undefined ? {} : { temperature: config.temperature }),
  } satisfies Partial<TurnPlan>;
}

/** Output limit for continuing truncated answers; undefined if the agent does not continue them. */
export function escalationOf({ config }: Agent, models: Models, model: ModelRef): TurnPlan['escalateTo'] {
  const { enabled, escalatedMaxTokens } = config.contextEngine.outputEscalation;
  return enabled ? async () => Math.min(escalatedMaxTokens, (await windowOf(models, model))?.maxTokens ?? Infinity) : undefined;
}

/** Creates the tools of an agent that acts for a principal. */
export type ToolsOf = (principal: Principal, config: Agent['config'], turn: ToolTurn) => ToolBox;

export interface PlanDeps extends RecentDeps {
  tools: ToolsOf;
  /** Returns memories and notes to place before the question. */
  remind?: (question: string) => Promise<ModelMessage | undefined>;
  witness?: Pick<Witness, 'told'>;
  /** Returns a note about the product documentation, for agents configured to have it. */
  documentation?: (() => string | undefined) | undefined;
}

export interface PlanGiven {
  turn: TurnDocument;
  hold: Hold;
  agent: Agent;
  model: ModelRef;
  principal: Principal;
  /** Trace context of the turn span. */
  traceparent: string | undefined;
  /** Remaining time in milliseconds. */
  left: () => number;
  /** The question. */
  text: string;
  /** State after earlier runs. */
  from?: Pick<Standing, 'kept'>;
}

/** Builds the prompt and limits of a durable turn: recent conversation, notes and question. */
export async function planTurn(deps: PlanDeps, given: PlanGiven): Promise<Omit<TurnPlan, 'signal'>> {
  const { turn, hold, agent, model, principal, traceparent, left, text } = given;
  const { turnId, requestId } = turn;
  const keep = (long: string): Promise<string> => hold.persist(() => keepApart(deps.bodies, turnId, long));
  const toolTurn = { turnId, requestId, traceparent, left, counted: model.provider === 'dev', keep, kept: given.from?.kept ?? false };
  const [{ messages: before, earlier, told, window }, leftOut, reminder] = await Promise.all([
    recent(deps, given),
    leftOutText(deps.turns, turn),
    deps.remind?.(text),
  ]);
  const offered = deps.tools(agentPrincipal(principal, turn), agent.config, { ...toolTurn, earlier });
  const tools = compactTools(offered, window, agent.config.contextEngine);
  deps.witness?.told({ ...told, tools: tools.specs.length });
  const system = deps.documentation?.();
  return {
    model,
    // The history contains no tool calls of earlier turns, so the cache key is per turn.
    conversation: `${principal.tenant} ${turnId}`,
    ...(system === undefined ? {} : { system }),
    messages: [...before, ...asked(leftOut), ...(reminder ? [reminder] : []), { role: 'user', text }],
    tools: withBreaker(whileHeld(tools, hold), agent.config.toolRetryBreaker),
    traceparent,
    escalateTo: escalationOf(agent, deps.models, model),
    guard: guardOf(agent, window),
    pruning: { config: agent.config, window: window?.contextWindow },
    ...limitsOf(agent),
  };
}

function guardOf({ config }: Agent, window: ModelWindow | undefined): WindowGuard | undefined {
  const { enabled, warnPercent, blockPercent } = config.contextGuard;
  if (!enabled || !window) return undefined;
  const leastOutput = leastAnswer(window.contextWindow, config.contextEngine.budget.minVisibleOutputTokens);
  return { window: window.contextWindow, warnPercent, blockPercent, leastOutput };
}

function asked(text: string | undefined): ModelMessage[] {
  return text === undefined ? [] : [{ role: 'user', text }];
}

/** Checks the lease before each tool call, so that a paused runner does not act after a takeover. */
function whileHeld(tools: ToolBox, hold: Hold): ToolBox {
  return {
    ...tools,
    get specs() {
      return tools.specs;
    },
    async use(call, using) {
      if (!hold.held()) throw leaseLost();
      return tools.use(call, using);
    },
  };
}

/** Principal of the turn: its client within the scopes of the turn, as this agent in this session. */
function agentPrincipal(principal: Principal, turn: TurnDocument): Principal {
  return { ...principal, scopes: turn.scopes as TokenScope[], agent: turn.agentId, session: turn.sessionKey };
}
