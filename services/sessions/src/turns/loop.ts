import { ServiceError, type StatelessResult, type TurnFrame } from '@switchyard/contracts';
import {
  CIRCUIT_OPEN,
  type JsonFormat,
  type ModelAnswer,
  type ModelMessage,
  type ModelPart,
  type ModelRef,
  type ModelRequest,
  type ToolCall,
} from '@switchyard/models';
import { BUDGET_EXCEEDED, type Call, type Reserved, type Used } from '../budgets/budgets.ts';
import { tokensOf } from '../context/room.ts';
import type { Asking } from './asking.ts';
import { standingOf, type Mark, type Standing } from './journal.ts';
import { OUTCOME_UNKNOWN, type CallersToolBox, type ToolBox, type ToolResult, type ToolUse } from './tools.ts';

type WithoutNumber<F> = F extends { n: number } ? Omit<F, 'n'> : never;
/** A frame before its turn gave it a number. */
export type FrameBody = WithoutNumber<TurnFrame>;

/** Everything one turn needs to run; it knows neither sessions nor transports. */
export interface TurnPlan {
  model: ModelRef;
  system?: string;
  /** What was said before, and the question last. */
  messages: readonly ModelMessage[];
  tools: ToolBox | CallersToolBox;
  stop?: readonly string[];
  format?: JsonFormat;
  maxSteps: number;
  /** Tokens one turn may use before it ends with `budget_exceeded`. */
  maxTokens: number;
  /** The same in US dollars. */
  maxCostUsd?: number | undefined;
  /** What whoever runs it may use, asked before each call of the model. */
  budget?: { reserve(call: Call): Reserved | Promise<Reserved> } | undefined;
  maxOutputTokens?: number;
  temperature?: number;
  promptTimeoutMs: number;
  /** Nobody reads the text as it comes: there are no frames of it. */
  whole?: boolean;
  signal: AbortSignal;
  /** The span of the turn, which its model calls belong to. */
  traceparent?: string | undefined;
  /** Told of every step that calls tools and of every result, before anything follows from it. */
  note?: (mark: Mark) => Promise<void>;
  /** What others have said meanwhile: asked before each call of the model, with the number of those that were made. */
  hear?: (step: number) => Promise<readonly string[]>;
  /** Where an earlier run of the turn came to. */
  from?: Standing;
}

export interface TurnOutcome {
  result: StatelessResult;
  model: ModelRef;
  steps: number;
  costUsd: number;
  latencyMs: number;
}

/**
 * Model call, tools, model call, until the model says no more or a limit is met. Ends with a named finish reason
 * or throws a ServiceError; a partial answer is never passed off as a whole one. It goes on from where an earlier run came to.
 */
export async function* runTurn(models: Asking, plan: TurnPlan): AsyncGenerator<FrameBody, TurnOutcome, void> {
  const started = performance.now();
  const { tools, from = standingOf([]) } = plan;
  const messages = [...plan.messages, ...from.messages];
  const { spent } = from;
  let { steps, response } = from;
  let { model } = plan;

  const end = (ending: Ending): TurnOutcome => ({
    result: { response, tokensUsed: { input: spent.input, output: spent.output, total: spent.input + spent.output }, ...ending },
    model,
    steps,
    costUsd: spent.costUsd,
    latencyMs: performance.now() - started,
  });

  if (tools.use !== undefined && from.open.length > 0) {
    yield* useTools({ plan, tools, messages }, { number: steps, calls: from.open, of: from.asked, begun: from.begun, interrupted: true });
  }
  for (;;) {
    if (steps >= plan.maxSteps) return end({ finishReason: 'max_steps' });
    if (isSpent(plan, spent)) return end({ finishReason: 'budget_exceeded' });
    for (const text of (await plan.hear?.(steps)) ?? []) messages.push({ role: 'user', text });
    const reserved = await reserve(plan, messages, steps > 0);
    if (reserved === 'exceeded') return end({ finishReason: 'budget_exceeded' });
    steps += 1;
    yield { type: 'step', step: steps };

    const left = plan.maxTokens - spent.input - spent.output;
    const said = yield* modelStep(models, plan, { messages, left, reserved, begun: steps > 1 });
    if (said === LEFT_ALONE) return end({ finishReason: 'circuit_open' });
    model = said.model ?? model;
    response = said.text === '' ? response : said.text;
    spent.input += said.usage.input;
    spent.output += said.usage.output;
    spent.costUsd += said.costUsd;
    if (said.beyond) return end({ finishReason: 'budget_exceeded' });
    const [first] = said.calls;
    if (tools.use === undefined || first === undefined) return end(endingOf(said, tools));

    const { text, calls, usage, costUsd } = said;
    await plan.note?.({ mark: 'said', text, calls, input: usage.input, output: usage.output, costUsd, begins: first.callId });
    messages.push({ role: 'assistant', text, toolCalls: calls });
    yield* useTools({ plan, tools, messages }, { number: steps, calls, of: calls.length, begun: first.callId, interrupted: false });
  }
}

function isSpent({ maxTokens, maxCostUsd = Infinity }: TurnPlan, { input, output, costUsd }: Standing['spent']): boolean {
  return input + output >= maxTokens || costUsd >= maxCostUsd;
}

/** A turn that has begun ends by name where nothing is left for its next call; one that has not fails. */
async function reserve(plan: TurnPlan, messages: readonly ModelMessage[], begun: boolean): Promise<Reserved | 'exceeded' | undefined> {
  const { budget, model, system, maxOutputTokens } = plan;
  try {
    return await budget?.reserve({ model, system, messages, maxOutputTokens });
  } catch (error) {
    if (begun && error instanceof ServiceError && error.details.reason === BUDGET_EXCEEDED) return 'exceeded';
    throw error;
  }
}

interface Using {
  plan: TurnPlan;
  tools: ToolBox;
  messages: ModelMessage[];
}

interface Calls {
  number: number;
  calls: readonly ToolCall[];
  /** How many calls the step has, those that were answered before with them. */
  of: number;
  /** The call that is noted as begun. */
  begun: string | undefined;
  /** It was begun by an earlier run, and nobody knows whether it did anything. */
  interrupted: boolean;
}

async function* useTools(
  { plan, tools, messages }: Using,
  { number, calls, of, begun, interrupted }: Calls,
): AsyncGenerator<FrameBody, void, void> {
  for (const [at, call] of calls.entries()) {
    const { callId, name } = call;
    const unknown = interrupted && at === 0 && begun === callId && !tools.repeatable(name);
    yield { type: 'tool', step: number, callId, name, state: unknown ? 'interrupted' : 'called' };
    const { result, failed } = unknown
      ? INTERRUPTED
      : await useTool(tools, call, { signal: plan.signal, step: number, at: of > 1 ? of - calls.length + at : undefined });
    const next = calls[at + 1]?.callId;
    await plan.note?.({ mark: 'result', callId, result, failed, ...(next === undefined ? {} : { begins: next }) });
    messages.push({ role: 'tool', callId, name, result, failed });
    if (!unknown) yield { type: 'tool', step: number, callId, name, state: failed ? 'failed' : 'succeeded' };
  }
}

/** What the model reads of a call that was under way when its runner stopped, and that must not be made twice. */
const INTERRUPTED: ToolResult = {
  result: { error: `${OUTCOME_UNKNOWN} It was interrupted, and was not repeated.` },
  failed: true,
};

type Said = Omit<ModelAnswer, 'reasoning' | 'calls'> & {
  calls: ToolCall[];
  /** It was left in the middle, because it said more than the turn's budget has tokens for. */
  beyond?: true;
};

/** Of a long text no model makes fewer tokens than one of so many characters: what is longer is surely beyond the budget. */
const MOST_CHARS_A_TOKEN = 8;

interface AskedFor {
  messages: readonly ModelMessage[];
  /** Tokens that the turn may still use. */
  left: number;
  /** What was set aside for this call. */
  reserved: Reserved | undefined;
  /** The turn has done something already. */
  begun: boolean;
}

/** Instead of an answer, of a turn that has begun: every model that it may ask kept failing. */
const LEFT_ALONE = 'left alone';

type Ending = Pick<StatelessResult, 'finishReason' | 'toolCalls'>;

/** How a turn ends that has no tool of its own to call. */
function endingOf({ calls, reason }: Said, tools: TurnPlan['tools']): Ending {
  // The last call of an answer that was cut short may lack its end, and half a call is none.
  if (reason === 'length') return { finishReason: 'output_starved' };
  if (calls.length === 0) return { finishReason: 'stop' };
  const handedOver = tools.use === undefined && !tools.parallel ? calls.slice(0, 1) : calls;
  const toolCalls = handedOver.map(({ callId, name, text }) => ({ callId, name, arguments: text }));
  return { finishReason: 'tool_calls', toolCalls };
}

async function* modelStep(models: Asking, plan: TurnPlan, asking: AskedFor): AsyncGenerator<FrameBody, Said | typeof LEFT_ALONE, void> {
  const asked = requestOf(plan, asking.messages);
  const said: Said = { text: '', calls: [], reason: 'other', usage: { input: 0, output: 0 }, costUsd: 0 };
  let ended = false;
  try {
    if (plan.whole === true) Object.assign(said, await models.complete(asked));
    else
      for await (const part of models.stream(asked)) {
        take(said, part);
        if (part.type !== 'text') continue;
        yield { type: 'delta', text: part.text };
        if (said.text.length <= asking.left * MOST_CHARS_A_TOKEN) continue;
        cutOff(said);
        break;
      }
    ended = said.beyond !== true;
    return said;
  } catch (error) {
    if (asking.begun && error instanceof ServiceError && error.details.reason === CIRCUIT_OPEN) return LEFT_ALONE;
    throw error;
  } finally {
    asking.reserved?.settle(ended ? usedBy(said) : leftAt(said, asking.reserved.expected));
  }
}

/** What one part of an answer adds to it. */
function take(said: Said, part: ModelPart): void {
  if (part.type === 'text') said.text += part.text;
  else if (part.type === 'tool-call') said.calls.push(part.call);
  else if (part.type === 'finish') {
    said.reason = part.reason;
    said.usage = part.usage;
    said.costUsd = part.costUsd;
    if (part.model) said.model = part.model;
  }
}

/** What it really used is said at an end that is not waited for. */
function cutOff(said: Said): void {
  said.usage = { input: 0, output: Math.ceil(said.text.length / MOST_CHARS_A_TOKEN) };
  said.beyond = true;
}

function usedBy({ usage, costUsd }: Said): Used {
  return { tokens: usage.input + usage.output, costUsd };
}

/** What counts as used where the end never came, which would have said it: nothing where nothing was said, else what was expected. */
function leftAt({ text }: Said, expected: Used): Used {
  if (text === '') return { tokens: 0, costUsd: 0 };
  return { tokens: Math.max(expected.tokens, tokensOf(text.length)), costUsd: expected.costUsd };
}

function requestOf(plan: TurnPlan, messages: readonly ModelMessage[]): ModelRequest {
  return {
    model: plan.model,
    messages,
    tools: plan.tools.specs,
    ...(plan.tools.use === undefined && plan.tools.choice !== undefined ? { toolChoice: plan.tools.choice } : {}),
    ...(plan.stop === undefined ? {} : { stop: plan.stop }),
    ...(plan.format === undefined ? {} : { format: plan.format }),
    signal: plan.signal,
    promptTimeoutMs: plan.promptTimeoutMs,
    traceparent: plan.traceparent,
    ...(plan.system === undefined ? {} : { system: plan.system }),
    ...(plan.temperature === undefined ? {} : { temperature: plan.temperature }),
    ...(plan.maxOutputTokens === undefined ? {} : { maxTokens: plan.maxOutputTokens }),
  };
}

async function useTool(tools: ToolBox, call: ToolCall, using: ToolUse): Promise<ToolResult> {
  const { signal } = using;
  signal.throwIfAborted();
  const outcome = await tools.use(call, using);
  signal.throwIfAborted();
  return outcome;
}
