import type { StatelessResult } from '@switchyard/contracts';
import type { ModelMessage } from '@switchyard/models';
import { createGauge } from '../context-window/window-guard.ts';
import { createPruning } from './tool-result-pruning.ts';
import { createOutputFilter, mayShow } from './output-filter.ts';
import { describeBudget, reserveBudget } from './budget-reservation.ts';
import type { ModelAccess } from '../agents/model-access.ts';
import { createSilenceRetries, continueTruncated } from './answer-continuation.ts';
import { addUsage, zeroUsage, buildResumeState, type CheckpointEntry, type TurnUsage } from '../model/checkpoint-log.ts';
import { CIRCUIT_IS_OPEN, callModel, type ModelReply } from './model-call.ts';
import { createLoopDetector } from './loop-detection.ts';
import type { TurnOutcome, TurnPlan } from './turn-plan.ts';
import type { FrameBody } from '../frames/frame-splitting.ts';
import { runToolCalls } from './tool-calls.ts';

/**
 * Calls the model and its tools until the model calls no more tools or a limit is reached. Returns a finish reason or throws a
 * ServiceError; a partial answer is never reported as complete. Resumes after an earlier run.
 */
export async function* runAgentLoop(models: ModelAccess, plan: TurnPlan): AsyncGenerator<FrameBody, TurnOutcome, void> {
  const state = createState(plan);
  const { tools } = plan;
  const { messages, resumeFrom, silenceRetries } = state;
  const end = (ending: Ending): TurnOutcome => buildOutcome(state, ending);

  if (tools.use !== undefined && resumeFrom.pendingCalls.length > 0) {
    const { pendingCalls: calls, callCount, startedCallId, requestId } = resumeFrom;
    yield* runToolCalls(
      { plan, tools, messages },
      { number: state.steps, calls, total: callCount, startedCallId, requestId, interrupted: true },
    );
  }
  for (;;) {
    if (state.steps >= plan.maxSteps) return end({ finishReason: 'max_steps' });
    if (isBudgetSpent(plan, state.spent)) return end({ finishReason: 'budget_exceeded' });
    for (const text of (await plan.takeMerged?.(state.steps)) ?? []) messages.push({ role: 'user', text });
    if (state.used) plan.trim?.(messages, plan.startLayer);
    const sent = state.pruning?.apply(messages, plan.startLayer) ?? messages;
    const checked = plan.guard && plan.startLayer?.('window-guard');
    const fits = state.gauge.fits(sent);
    checked?.({ messagesIn: sent.length, messagesOut: sent.length });
    if (!fits) return end({ finishReason: 'context_exhausted' });
    const reserved = await reserveBudget(plan, sent, state.steps > 0);
    if (reserved === 'exceeded') return end({ finishReason: 'budget_exceeded' });
    state.steps += 1;
    yield { type: 'step', step: state.steps };
    plan.onBudget?.(describeBudget(plan, state.spent, reserved));

    const remainingTokens = plan.maxTokens - state.spent.input - state.spent.output;
    const callOptions = {
      messages: sent,
      remainingTokens,
      started: state.steps > 1,
      isRetry: silenceRetries.isPending,
      toolsDisabled: state.toolsDisabled,
    };
    const outputFilter = createOutputFilter(plan);
    const first = await callModel(models, plan, { ...callOptions, reserved, filterText: outputFilter.push });
    if (first === CIRCUIT_IS_OPEN) return end({ finishReason: 'circuit_open' });
    const isCut = first.reason === 'length' && !first.overBudget;
    const whole = isCut
      ? await continueTruncated(models, plan, { reply: first, request: { ...callOptions, filterText: outputFilter.push } })
      : first;
    const { message: said, rest } = outputFilter.end(whole);
    if (rest !== '') plan.onText?.(rest);
    addReply(state, said);
    if (said.overBudget) return end({ finishReason: 'budget_exceeded' });
    const [call] = said.calls;
    if (tools.use === undefined || call === undefined) {
      const next = silenceRetries.next(said, state.used);
      if (!next) return end({ ...getEnding(said, tools), ...selectModelDetails(said, plan) });
      messages.push(next.message);
      state.toolsDisabled = next.toolsDisabled;
      continue;
    }
    const startedCallId = tools.mayWait?.(call.name) ? undefined : call.callId;
    await plan.onCheckpoint?.(stepEntry(state, said, startedCallId));
    const { text, calls, providerFields } = said;
    const at =
      messages.push({ role: 'assistant', text, toolCalls: calls, ...(providerFields === undefined ? {} : { providerFields }) }) - 1;
    yield* runToolCalls({ plan, tools, messages }, { number: state.steps, calls, total: calls.length, startedCallId, interrupted: false });
    state.used = true;
    if (state.loopDetector.addStep(messages, at)) return end({ finishReason: 'context_loop' });
  }
}

type LoopState = ReturnType<typeof createState>;

function createState(plan: TurnPlan) {
  const { resumeFrom = buildResumeState([]), model, guard, system, onWarning, maxRepeats } = plan;
  const messages: ModelMessage[] = [...plan.messages, ...resumeFrom.messages];
  return {
    started: performance.now(),
    resumeFrom,
    messages,
    spent: resumeFrom.spent,
    steps: resumeFrom.steps,
    response: resumeFrom.response,
    model,
    gauge: createGauge(guard, system, { warn: onWarning, onMeasured: plan.onWindow }),
    pruning: plan.pruning && createPruning(plan.pruning, plan.messages.length),
    loopDetector: createLoopDetector(maxRepeats),
    silenceRetries: createSilenceRetries(plan),
    /** Tools have returned results. */
    used: resumeFrom.steps > 0,
    /** The model must answer without calling tools. */
    toolsDisabled: false,
    /** Usage since the last checkpoint. */
    uncheckpointed: zeroUsage(),
  };
}

function addReply(state: LoopState, { text, usage, costUsd, model = state.model }: ModelReply): void {
  state.model = model;
  state.response = text === '' ? state.response : text;
  for (const sum of [state.spent, state.uncheckpointed]) addUsage(sum, { ...usage, costUsd });
}

/** Checkpoint of a step with tool calls, including the usage of preceding steps without calls. */
function stepEntry(state: LoopState, { text, calls, providerFields }: ModelReply, begins: string | undefined): CheckpointEntry {
  const { steps: step, uncheckpointed, model } = state;
  state.uncheckpointed = zeroUsage();
  return {
    mark: 'said',
    step,
    text,
    calls,
    ...(providerFields === undefined ? {} : { providerFields }),
    ...uncheckpointed,
    model: `${model.provider}/${model.modelId}`,
    ...(begins === undefined ? {} : { begins }),
  };
}

function buildOutcome({ response, spent, model, steps, started }: LoopState, ending: Ending): TurnOutcome {
  return {
    result: { response, tokensUsed: { input: spent.input, output: spent.output, total: spent.input + spent.output }, ...ending },
    model,
    steps,
    spent,
    latencyMs: performance.now() - started,
  };
}

function isBudgetSpent({ maxTokens, maxCostUsd = Infinity }: TurnPlan, { input, output, costUsd }: TurnUsage): boolean {
  return input + output >= maxTokens || costUsd >= maxCostUsd;
}

type Ending = Pick<StatelessResult, 'finishReason' | 'toolCalls' | 'providerFields' | 'filtered'>;

/**
 * Selects what a caller that continues the conversation itself needs to know. Omits the fields of the provider of a fallback model, because
 * the next request of the caller goes to the first model, and fields that contain a secret.
 */
function selectModelDetails({ providerFields, reason }: ModelReply, plan: TurnPlan): Pick<StatelessResult, 'providerFields' | 'filtered'> {
  if (!plan.returnsModelDetails) return {};
  const { provider, fields = {} } = providerFields ?? {};
  const hasFields = provider === plan.model.provider && Object.keys(fields).length > 0 && mayShow(fields);
  return { ...(hasFields ? { providerFields: fields } : {}), ...(reason === 'content-filter' ? { filtered: true } : {}) };
}

/** Finish reason of a turn whose last reply calls no tool of the server. */
function getEnding({ calls, reason }: ModelReply, tools: TurnPlan['tools']): Ending {
  // The last call of a truncated or filtered reply may be incomplete.
  if (reason === 'length') return { finishReason: 'output_starved' };
  if (calls.length === 0 || reason === 'content-filter') return { finishReason: 'stop' };
  const handedOver = tools.use === undefined && !tools.parallel ? calls.slice(0, 1) : calls;
  const toolCalls = handedOver.map(({ callId, name, text, providerFields }) => ({
    callId,
    name,
    arguments: text,
    ...(providerFields !== undefined && mayShow(providerFields) ? { providerFields } : {}),
  }));
  return { finishReason: 'tool_calls', toolCalls };
}
