import { ServiceError, type Screened, type StatelessResult, type StatelessTurn, type TurnFrame } from '@switchyard/contracts';
import type { Ctx } from '@switchyard/bus';
import { explainHidden, findVisible, type Failover, type ModelRef, type Models } from '@switchyard/models';
import type { ApprovalGate } from '../approvals/turn-gate.ts';
import type { Agent, AgentDirectory } from '../agents/agent-directory.ts';
import type { Budgets } from '../budgets/budgets.ts';
import { accessModels } from '../agents/model-access.ts';
import type { UsageRecorder } from '@switchyard/service-kit';
import { measureStatelessUsage } from './stateless-usage.ts';
import { REINFORCEMENT, type Screening, type Speaker } from '../screening/screening.ts';
import { createTurnTaint } from '../screening/untrusted-results.ts';
import { createCallerToolBox, conversationName, buildConversation } from './stateless-conversation.ts';
import { agentSuspended } from '../turns/store/turn-errors.ts';
import type { ToolBox } from '../tools/toolbox.ts';
import { splitFrame } from '../frames/frame-splitting.ts';
import { runAgentLoop } from '../agent-loop/agent-loop.ts';
import { getEscalation, getAgentLimits, type CreateToolBox } from '../agent-loop/turn-planner.ts';
import { measureStateless } from '../turns/store/turn-metrics.ts';
import type { TurnPlan } from '../agent-loop/turn-plan.ts';

export interface StatelessDeps {
  tools: CreateToolBox;
  models: Models;
  failover?: Failover;
  agents: AgentDirectory;
  budgets: Budgets;
  screening: Pick<Screening, 'look' | 'tellInput' | 'tellOutput' | 'tellToolResult'>;
  usage: UsageRecorder;
  /** Without it no tool call is gated. */
  gate?: Pick<ApprovalGate, 'forStateless'>;
}

type StatelessCaller = Pick<Ctx, 'principal' | 'signal' | 'deadline' | 'requestId' | 'traceparent'>;

/** Caller that streams the turn. */
export interface StreamingCaller extends StatelessCaller {
  /** Sends a text frame, before the frames that are yielded later. */
  readonly send: (frame: TurnFrame) => void;
}

/** Runs a turn without a document or a queue. Its frames are the reply, and leaving the stream cancels it. */
export async function* runStateless(
  deps: StatelessDeps,
  turn: StatelessTurn,
  caller: StreamingCaller,
): AsyncGenerator<TurnFrame, StatelessResult, void> {
  const { agent, model } = await resolveResponder(deps, turn, caller);
  const { send } = caller;
  let n = 0;
  const notify = (text: string): void => {
    for (const part of splitFrame({ type: 'delta', text })) send({ n: n++, ...part });
  };
  using measured = measureStateless({ agentId: agent.agentId, turnId: turn.turnId }, caller.traceparent);
  using used = measureStatelessUsage(deps.usage, { turn, agent, model, principal: caller.principal });
  yield { n: n++, type: 'accepted', turnId: turn.turnId, agentId: agent.agentId, model: `${model.provider}/${model.modelId}` };
  const running = runAgentLoop(accessModels(deps, caller.principal, agent), {
    ...getPlan(deps, { turn, agent, model, caller, traceparent: measured.traceparent }),
    onText: notify,
    onModelCall: used.onModelCall,
  });
  try {
    for (;;) {
      const frame = await running.next();
      if (frame.done) {
        measured.end(frame.value.result);
        used.end();
        for (const part of splitFrame({ type: 'done', result: frame.value.result })) yield { n: n++, ...part };
        return frame.value.result;
      }
      for (const part of splitFrame(frame.value)) yield { n: n++, ...part };
    }
  } catch (error) {
    measured.fail(error);
    used.fail(error);
    throw error;
  } finally {
    await running.return(undefined as never);
  }
}

/** Runs the turn without streaming. A failure after a tool call is marked as not retryable. */
export async function completeStateless(deps: StatelessDeps, turn: StatelessTurn, caller: StatelessCaller): Promise<StatelessResult> {
  const { agent, model } = await resolveResponder(deps, turn, caller);
  using measured = measureStateless({ agentId: agent.agentId, turnId: turn.turnId }, caller.traceparent);
  using used = measureStatelessUsage(deps.usage, { turn, agent, model, principal: caller.principal });
  const plan = getPlan(deps, { turn, agent, model, caller, traceparent: measured.traceparent });
  const running = runAgentLoop(accessModels(deps, caller.principal, agent), { ...plan, onModelCall: used.onModelCall });
  let toolRan = false;
  try {
    for (;;) {
      const frame = await running.next();
      if (frame.done) {
        measured.end(frame.value.result);
        used.end();
        return frame.value.result;
      }
      toolRan ||= frame.value.type === 'tool';
    }
  } catch (error) {
    measured.fail(error);
    used.fail(error);
    throw toolRan && error instanceof ServiceError ? notAgain(error) : error;
  }
}

function notAgain({ code, message, details, cause }: ServiceError): ServiceError {
  return new ServiceError(code, message, { details: { ...details, retryable: false }, cause });
}

async function resolveResponder({ models, agents }: StatelessDeps, { model }: StatelessTurn, { principal }: StatelessCaller) {
  const { tenant } = principal;
  const usable = agents.all(tenant, principal.agents);
  const named = await findVisible(models, usable, model);
  const agent = named && agents.find(tenant, named.agentId);
  if (!named || !agent) throw modelNotFound(await explainHidden(models, usable, model));
  if (agent.suspended) throw agentSuspended(agent.agentId);
  return { agent, model: named.model };
}

/** A configured model is answered with the setting that hides it. */
function modelNotFound(hiddenBy: string | undefined): ServiceError {
  if (hiddenBy === undefined) return new ServiceError('NOT_FOUND', 'Model not found', { details: { reason: 'MODEL_NOT_FOUND' } });
  return new ServiceError('NOT_FOUND', `Model not found: ${hiddenBy}.`, { details: { reason: 'MODEL_HIDDEN' } });
}

interface PlanGiven {
  turn: StatelessTurn;
  agent: Agent;
  model: ModelRef;
  caller: StatelessCaller;
  /** Trace context of the turn span. */
  traceparent: string | undefined;
}

function getPlan(deps: StatelessDeps, { turn, agent, model, caller, traceparent }: PlanGiven): TurnPlan {
  const { tools, models, budgets, screening, gate } = deps;
  const { principal, signal, requestId } = caller;
  const remainingMs = (): number => caller.deadline - Date.now();
  const toolTurn = { turnId: turn.turnId, requestId, traceparent, remainingMs, countsExecutions: model.provider === 'dev' };
  const budget = budgets.of(principal, agent);
  const onSuspicious = (screened: Screened): void => screening.tellToolResult(getSpeaker(caller, agent), screened);
  const gateTools = gate?.forStateless(principal, { taint: createTurnTaint(false), onSuspicious }) ?? ((ungated: ToolBox) => ungated);
  return {
    model,
    conversation: turn.tools ? conversationName(turn, principal) : `${principal.tenant} ${turn.turnId}`,
    messages: buildConversation(turn, model.provider, reinforcing(deps, { turn, agent, caller })),
    onFinding: (finding) => screening.tellOutput(getSpeaker(caller, agent), finding),
    tools: turn.tools ? createCallerToolBox(turn.tools) : gateTools(tools({ ...principal, agent: agent.agentId }, agent.config, toolTurn)),
    traceparent,
    returnsModelDetails: true,
    ...getAgentLimits(agent),
    // Most reservations succeed synchronously.
    budget: { reserve: (call) => budget.reserveNow(call) ?? budget.reserve(call) },
    signal,
    ...(turn.stop === undefined ? {} : { stop: turn.stop }),
    ...(turn.format === undefined ? {} : { format: turn.format }),
    ...(turn.system === undefined ? {} : { system: turn.system }),
    // A caller that limits the answer does not want it continued.
    ...(turn.maxTokens === undefined ? { escalateTo: getEscalation(agent, models, model) } : { maxOutputTokens: turn.maxTokens }),
    ...(turn.temperature === undefined ? {} : { temperature: turn.temperature }),
  };
}

/** Security reminder before a suspicious message. A resumed message was screened before. */
function reinforcing({ screening }: StatelessDeps, { turn, agent, caller }: Pick<PlanGiven, 'turn' | 'agent' | 'caller'>) {
  const screened = screening.look(turn.message);
  if (!screened) return undefined;
  if ((turn.since ?? []).length === 0) screening.tellInput(getSpeaker(caller, agent), screened);
  return screened.risk === 'low' ? undefined : REINFORCEMENT;
}

function getSpeaker({ principal: { tenant, client }, requestId }: StatelessCaller, { agentId }: Agent): Speaker {
  return { tenant, client, agentId, traceId: requestId };
}
