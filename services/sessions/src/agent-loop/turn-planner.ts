import type { Principal, TokenScope } from '@switchyard/contracts';
import type { ModelMessage, ModelRef, Models } from '@switchyard/models';
import type { Agent } from '../agents/agent-directory.ts';
import { compactTools } from './tool-list-compaction.ts';
import type { WindowGuard } from '../context-window/window-guard.ts';
import { recent, type RecentDeps } from '../context/recent-history.ts';
import { getMinAnswerTokens, getModelWindow, type ModelWindow } from '../context-window/context-window.ts';
import { createTrim } from './tool-result-trimming.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { storeSeparately } from '../model/stored-text.ts';
import type { TurnTracer } from './turn-trace.ts';
import { leaseLostError, type SessionLease } from '../queue/session-lease.ts';
import type { ResumeState } from '../model/checkpoint-log.ts';
import { renderDroppedMessages } from '../queue/dropped-messages.ts';
import type { TurnPlan } from './turn-plan.ts';
import { withBreaker } from './tool-circuit-breaker.ts';
import type { ToolBox, ToolTurn } from './toolbox.ts';

/** What the configuration of an agent says about each of its turns. */
export function getAgentLimits({ config }: Agent) {
  const { postBatchContinuation } = config.contextEngine;
  return {
    maxSteps: config.maxSteps,
    maxTokens: config.budgets.perExecution,
    maxCostUsd: config.budgets.perExecutionUsd,
    promptTimeoutMs: config.promptTimeout.promptTimeoutMs,
    maxRepeats: config.contextGuard.enabled ? config.contextGuard.maxRepeats : undefined,
    finalOnly: config.enforceFinalTag,
    silenceRetries: postBatchContinuation.enabled ? postBatchContinuation.maxRetries : undefined,
    trim: createTrim(config.contextEngine),
    ...(config.maxTokens === undefined ? {} : { maxOutputTokens: config.maxTokens }),
    ...(config.temperature === undefined ? {} : { temperature: config.temperature }),
  } satisfies Partial<TurnPlan>;
}

/** How long an answer of a model may become that was cut off; nothing where its agent wants none longer. */
export function getEscalation({ config }: Agent, models: Models, model: ModelRef): TurnPlan['escalateTo'] {
  const { enabled, escalatedMaxTokens } = config.contextEngine.outputEscalation;
  return enabled ? async () => Math.min(escalatedMaxTokens, (await getModelWindow(models, model))?.maxTokens ?? Infinity) : undefined;
}

/** The tools of an agent that acts for a principal. */
export type CreateToolBox = (principal: Principal, config: Agent['config'], turn: ToolTurn) => ToolBox;

export interface PlanTurnDeps extends RecentDeps {
  tools: CreateToolBox;
  /** What stands before the question, asked with its text. */
  loadMemory?: (question: string) => Promise<ModelMessage | undefined>;
  tracer?: Pick<TurnTracer, 'recordPrompt'>;
  /** Where help is, for agents that are to know. */
  documentation?: (() => string | undefined) | undefined;
}

export interface PlanTurnOptions {
  turn: TurnDocument;
  lease: SessionLease;
  agent: Agent;
  model: ModelRef;
  principal: Principal;
  /** Trace context of the turn span. */
  traceparent: string | undefined;
  /** Milliseconds that are left of the turn. */
  remainingMs: () => number;
  /** What is asked. */
  text: string;
  /** Where earlier runs of the turn came to. */
  resumeFrom?: Pick<ResumeState, 'hasStoredResults'>;
}

/** What a durable turn sends to its model: the recent conversation and the question. */
export async function planTurn(deps: PlanTurnDeps, given: PlanTurnOptions): Promise<Omit<TurnPlan, 'signal'>> {
  const { turn, lease, agent, model, principal, traceparent, remainingMs, text } = given;
  const { turnId, requestId } = turn;
  const store = (long: string): Promise<string> => lease.retryWrite(() => storeSeparately(deps.bodies, turnId, long));
  const toolTurn = {
    turnId,
    requestId,
    traceparent,
    remainingMs,
    countsExecutions: model.provider === 'dev',
    store,
    hasStored: given.resumeFrom?.hasStoredResults ?? false,
  };
  const [{ messages: before, earlier, told, window }, leftOut, reminder] = await Promise.all([
    recent(deps, { ...given, hold: lease }),
    renderDroppedMessages(deps.turns, turn),
    deps.loadMemory?.(text),
  ]);
  const offered = deps.tools(agentPrincipal(principal, turn), agent.config, { ...toolTurn, hasHistoryTools: earlier });
  const tools = compactTools(offered, window, agent.config.contextEngine);
  deps.tracer?.recordPrompt({ ...told, tools: tools.specs.length });
  const system = deps.documentation?.();
  return {
    model,
    // The history contains no tool calls of earlier turns, so the cache key is per turn.
    conversation: `${principal.tenant} ${turnId}`,
    ...(system === undefined ? {} : { system }),
    messages: [...before, ...toMessages(leftOut), ...(reminder ? [reminder] : []), { role: 'user', text }],
    tools: withBreaker(whileLeaseHeld(tools, lease), agent.config.toolRetryBreaker),
    traceparent,
    escalateTo: getEscalation(agent, deps.models, model),
    guard: getWindowGuard(agent, window),
    pruning: { config: agent.config, window: window?.contextWindow },
    ...getAgentLimits(agent),
  };
}

function getWindowGuard({ config }: Agent, window: ModelWindow | undefined): WindowGuard | undefined {
  const { enabled, warnPercent, blockPercent } = config.contextGuard;
  if (!enabled || !window) return undefined;
  const leastOutput = getMinAnswerTokens(window.contextWindow, config.contextEngine.budget.minVisibleOutputTokens);
  return { window: window.contextWindow, warnPercent, blockPercent, leastOutput };
}

function toMessages(text: string | undefined): ModelMessage[] {
  return text === undefined ? [] : [{ role: 'user', text }];
}

/** A runner that was paused learns here that its lease is over, before a tool does anything for it. */
function whileLeaseHeld(tools: ToolBox, hold: SessionLease): ToolBox {
  return {
    ...tools,
    get specs() {
      return tools.specs;
    },
    async use(call, using) {
      if (!hold.isHeld()) throw leaseLostError();
      return tools.use(call, using);
    },
  };
}

/** Principal of the turn: its client within the scopes of the turn, as this agent in this session. */
function agentPrincipal(principal: Principal, turn: TurnDocument): Principal {
  return { ...principal, scopes: turn.scopes as TokenScope[], agent: turn.agentId, session: turn.sessionKey };
}
