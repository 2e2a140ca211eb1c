import type { Principal, TokenScope } from '@switchyard/contracts';
import type { ModelMessage, ModelRef, Models } from '@switchyard/models';
import type { Agent } from '../agents/agent-directory.ts';
import { compactTools } from './tool-list-compaction.ts';
import type { WindowGuard } from '../context-window/window-guard.ts';
import { loadOrderedContext } from '../context/ordered-context.ts';
import { recent, type RecentDeps } from '../context/recent-history.ts';
import { getMinAnswerTokens, getModelWindow, type ModelWindow } from '../context-window/context-window.ts';
import { createTrim } from './tool-result-trimming.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { storeSeparately } from '../model/stored-text.ts';
import type { TurnTaint } from '../screening/untrusted-results.ts';
import type { TurnTracer } from './turn-trace.ts';
import { leaseLostError, type SessionLease } from '../queue/session-lease.ts';
import type { ResumeState } from '../model/checkpoint-log.ts';
import { renderDroppedMessages } from '../queue/dropped-messages.ts';
import type { TurnPlan } from './turn-plan.ts';
import { withBreaker } from './tool-circuit-breaker.ts';
import type { ToolBox, ToolTurn } from '../tools/toolbox.ts';
import { listDiscovered } from '../tools/tool-discovery.ts';

/** Limits from the agent's configuration. */
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

/** Output limit for continuing truncated answers; undefined if the agent does not continue them. */
export function getEscalation({ config }: Agent, models: Models, model: ModelRef): TurnPlan['escalateTo'] {
  const { enabled, escalatedMaxTokens } = config.contextEngine.outputEscalation;
  return enabled ? async () => Math.min(escalatedMaxTokens, (await getModelWindow(models, model))?.maxTokens ?? Infinity) : undefined;
}

/** Creates the tools of an agent that acts for a principal. */
export type CreateToolBox = (principal: Principal, config: Agent['config'], turn: ToolTurn) => ToolBox;

export interface PlanTurnDeps extends RecentDeps {
  tools: CreateToolBox;
  /** Returns memories and notes to place before the question. */
  loadMemory?: (question: string) => Promise<ModelMessage | undefined>;
  /** Lets tools run only when they are allowed to. Without it none is gated. */
  gate?: ((tools: ToolBox) => ToolBox) | undefined;
  /** Marked if the prompt contains text from outside. */
  taint?: Pick<TurnTaint, 'mark'>;
  tracer?: Pick<TurnTracer, 'recordPrompt' | 'startLayer'>;
  /** Returns a note about the product documentation, for agents configured to have it. */
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
  /** Remaining time in milliseconds. */
  remainingMs: () => number;
  /** The question. */
  text: string;
  /** State after earlier runs. */
  resumeFrom?: Pick<ResumeState, 'hasStoredResults' | 'messages' | 'skillLimits'>;
}

/** Builds the prompt and limits of a durable turn: recent conversation, notes and question. */
export async function planTurn(deps: PlanTurnDeps, options: PlanTurnOptions): Promise<Omit<TurnPlan, 'signal'>> {
  const { turn, lease, agent, model, principal, traceparent, remainingMs, text } = options;
  const { turnId, requestId } = turn;
  const store = (long: string): Promise<string> => lease.retryWrite(() => storeSeparately(deps.bodies, turnId, long));
  const toolTurn = {
    turnId,
    requestId,
    traceparent,
    remainingMs,
    countsExecutions: model.provider === 'dev',
    store,
    hasStored: options.resumeFrom?.hasStoredResults ?? false,
    discovered: listDiscovered(options.resumeFrom?.messages ?? []),
    narrowing: turn.tools,
    skillLimits: options.resumeFrom?.skillLimits ?? [],
    canPark: deps.gate !== undefined,
  };
  const [{ messages: before, earlier, promptMessage, window, isTainted }, leftOut, context, reminder] = await Promise.all([
    recent({ ...deps, startLayer: deps.tracer?.startLayer }, { ...options, hold: lease }),
    renderDroppedMessages(deps.turns, turn),
    loadOrderedContext(deps.bodies, turn, deps.taint),
    deps.loadMemory?.(text),
  ]);
  if (isTainted) deps.taint?.mark();
  const offered = deps.tools(agentPrincipal(principal, turn), agent.config, { ...toolTurn, hasHistoryTools: earlier });
  const tools = compactTools(offered, window, agent.config.contextEngine);
  deps.tracer?.recordPrompt({ ...promptMessage, tools: tools.specs.length });
  const system = deps.documentation?.();
  return {
    model,
    // The history contains no tool calls of earlier turns, so the cache key is per turn.
    conversation: `${principal.tenant} ${turnId}`,
    ...(system === undefined ? {} : { system }),
    messages: [...before, ...toMessages(leftOut), ...(context ? [context] : []), ...(reminder ? [reminder] : []), { role: 'user', text }],
    tools: withBreaker(deps.gate?.(whileLeaseHeld(tools, lease)) ?? whileLeaseHeld(tools, lease), agent.config.toolRetryBreaker),
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

/** Checks the lease before each tool call, so that a paused runner does not act after a takeover. */
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
