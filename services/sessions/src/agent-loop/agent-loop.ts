import type { StatelessResult } from '@switchyard/contracts';
import type { ModelMessage } from '@switchyard/models';
import { createGauge } from '../context-window/window-guard.ts';
import { createPruning } from './tool-result-pruning.ts';
import { createSpokenOutput } from './output-filter.ts';
import { reserve } from './budget-reservation.ts';
import type { Asking } from '../agents/model-access.ts';
import { createFollowUps, wholeAnswer } from './answer-continuation.ts';
import { addSpent, nothingSpent, standingOf, type Mark, type Spent } from '../model/checkpoint-log.ts';
import { LEFT_ALONE, modelStep, type Said } from './model-call.ts';
import { createCircles } from './loop-detection.ts';
import type { TurnOutcome, TurnPlan } from './turn-plan.ts';
import type { FrameBody } from '../frames/frame-splitting.ts';
import { useTools } from './tool-calls.ts';

/**
 * Calls the model and its tools until the model calls no more tools or a limit is reached. Returns a finish reason or throws a
 * ServiceError; a partial answer is never reported as complete. Resumes after an earlier run.
 */
export async function* runTurn(models: Asking, plan: TurnPlan): AsyncGenerator<FrameBody, TurnOutcome, void> {
  const state = beginning(plan);
  const { tools } = plan;
  const { messages, from, followUps } = state;
  const end = (ending: Ending): TurnOutcome => outcomeOf(state, ending);

  if (tools.use !== undefined && from.open.length > 0) {
    const { open: calls, asked: of, begun } = from;
    yield* useTools({ plan, tools, messages }, { number: state.steps, calls, of, begun, interrupted: true });
  }
  for (;;) {
    if (state.steps >= plan.maxSteps) return end({ finishReason: 'max_steps' });
    if (isSpent(plan, state.spent)) return end({ finishReason: 'budget_exceeded' });
    for (const text of (await plan.hear?.(state.steps)) ?? []) messages.push({ role: 'user', text });
    if (state.used) plan.trim?.(messages);
    const told = state.pruning?.told(messages) ?? messages;
    if (!state.gauge.fits(told)) return end({ finishReason: 'context_exhausted' });
    const reserved = await reserve(plan, told, state.steps > 0);
    if (reserved === 'exceeded') return end({ finishReason: 'budget_exceeded' });
    state.steps += 1;
    yield { type: 'step', step: state.steps };

    const left = plan.maxTokens - state.spent.input - state.spent.output;
    const asking = { messages: told, left, begun: state.steps > 1, followsUp: followUps.asked, silent: state.silent };
    const spoken = createSpokenOutput(plan);
    const first = await modelStep(models, plan, { ...asking, reserved, say: spoken.push });
    if (first === LEFT_ALONE) return end({ finishReason: 'circuit_open' });
    const isCut = first.reason === 'length' && !first.beyond;
    const whole = isCut ? await wholeAnswer(models, plan, { said: first, asked: { ...asking, say: spoken.push } }) : first;
    const { said, rest } = spoken.end(whole);
    if (rest !== '') plan.tell?.(rest);
    count(state, said);
    if (said.beyond) return end({ finishReason: 'budget_exceeded' });
    const [call] = said.calls;
    if (tools.use === undefined || call === undefined) {
      const next = followUps.after(said, state.used);
      if (!next) return end(endingOf(said, tools));
      messages.push(next.message);
      state.silent = next.silent;
      continue;
    }
    await plan.note?.(markOf(state, said, call.callId));
    const { text, calls } = said;
    const at = messages.push({ role: 'assistant', text, toolCalls: calls }) - 1;
    yield* useTools({ plan, tools, messages }, { number: state.steps, calls, of: calls.length, begun: call.callId, interrupted: false });
    state.used = true;
    if (state.circles.step(messages, at)) return end({ finishReason: 'context_loop' });
  }
}

type State = ReturnType<typeof beginning>;

function beginning(plan: TurnPlan) {
  const { from = standingOf([]), model, guard, system, warn, maxRepeats } = plan;
  const messages: ModelMessage[] = [...plan.messages, ...from.messages];
  return {
    started: performance.now(),
    from,
    messages,
    spent: from.spent,
    steps: from.steps,
    response: from.response,
    model,
    gauge: createGauge(guard, system, warn),
    pruning: plan.pruning && createPruning(plan.pruning, plan.messages.length),
    circles: createCircles(maxRepeats),
    followUps: createFollowUps(plan),
    /** Tools have returned results. */
    used: from.steps > 0,
    /** The model must answer without calling tools. */
    silent: false,
    /** Usage since the last checkpoint. */
    unnoted: nothingSpent(),
  };
}

function count(state: State, { text, usage, costUsd, model = state.model }: Said): void {
  state.model = model;
  state.response = text === '' ? state.response : text;
  for (const sum of [state.spent, state.unnoted]) addSpent(sum, { ...usage, costUsd });
}

/** Checkpoint of a step with tool calls, including the usage of preceding steps without calls. */
function markOf(state: State, { text, calls }: Said, begins: string): Mark {
  const { steps: step, unnoted } = state;
  state.unnoted = nothingSpent();
  return { mark: 'said', step, text, calls, ...unnoted, begins };
}

function outcomeOf({ response, spent, model, steps, started }: State, ending: Ending): TurnOutcome {
  return {
    result: { response, tokensUsed: { input: spent.input, output: spent.output, total: spent.input + spent.output }, ...ending },
    model,
    steps,
    spent,
    latencyMs: performance.now() - started,
  };
}

function isSpent({ maxTokens, maxCostUsd = Infinity }: TurnPlan, { input, output, costUsd }: Spent): boolean {
  return input + output >= maxTokens || costUsd >= maxCostUsd;
}

type Ending = Pick<StatelessResult, 'finishReason' | 'toolCalls'>;

/** Finish reason of a turn whose last reply calls no tool of the server. */
function endingOf({ calls, reason }: Said, tools: TurnPlan['tools']): Ending {
  // The last call of a truncated reply may be incomplete.
  if (reason === 'length') return { finishReason: 'output_starved' };
  if (calls.length === 0) return { finishReason: 'stop' };
  const handedOver = tools.use === undefined && !tools.parallel ? calls.slice(0, 1) : calls;
  const toolCalls = handedOver.map(({ callId, name, text }) => ({ callId, name, arguments: text }));
  return { finishReason: 'tool_calls', toolCalls };
}
