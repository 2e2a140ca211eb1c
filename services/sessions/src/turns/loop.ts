import type { StatelessResult, TurnFrame } from '@switchyard/contracts';
import type { JsonFormat, ModelMessage, ModelPart, ModelRef, Models, ModelUsage, ToolCall } from '@switchyard/models';
import type { StepRecord, ToolRecord } from '../data.ts';
import type { CallersToolBox, ToolBox } from './tools.ts';

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
  maxOutputTokens?: number;
  temperature?: number;
  promptTimeoutMs: number;
  /** Nobody reads the text as it comes. */
  whole?: boolean;
  signal: AbortSignal;
  /** The span of the turn, which its model calls belong to. */
  traceparent?: string | undefined;
  /** Called after every model step and every tool result, before anything follows from it. */
  checkpoint?: (steps: readonly StepRecord[]) => Promise<void>;
}

export interface TurnOutcome {
  result: StatelessResult;
  model: ModelRef;
  steps: StepRecord[];
  costUsd: number;
  latencyMs: number;
}

/**
 * Model call, tools, model call, until the model says no more or a limit is met. Ends with a named finish reason
 * or throws a ServiceError; a partial answer is never passed off as a whole one.
 */
export async function* runTurn(models: Models, plan: TurnPlan): AsyncGenerator<FrameBody, TurnOutcome, void> {
  const started = performance.now();
  const steps: StepRecord[] = [];
  const messages = [...plan.messages];
  const { tools } = plan;
  const spent = { input: 0, output: 0, costUsd: 0 };
  let response = '';

  const end = (ending: Ending): TurnOutcome => ({
    result: { response, tokensUsed: { input: spent.input, output: spent.output, total: spent.input + spent.output }, ...ending },
    model: plan.model,
    steps,
    costUsd: spent.costUsd,
    latencyMs: performance.now() - started,
  });

  for (let number = 1; ; number += 1) {
    if (number > plan.maxSteps) return end({ finishReason: 'max_steps' });
    if (spent.input + spent.output >= plan.maxTokens) return end({ finishReason: 'budget_exceeded' });
    yield { type: 'step', step: number };

    const said = yield* modelStep(models, plan, messages);
    response = said.text === '' ? response : said.text;
    spent.input += said.usage.input;
    spent.output += said.usage.output;
    spent.costUsd += said.costUsd;
    const step: StepRecord = { text: said.text, tools: [] };
    steps.push(step);
    if (tools.use === undefined || said.calls.length === 0) return end(endingOf(said, tools));

    await plan.checkpoint?.(steps);
    messages.push({ role: 'assistant', text: said.text, toolCalls: said.calls });
    for (const call of said.calls) {
      yield { type: 'tool', step: number, callId: call.callId, name: call.name, state: 'called' };
      const record = await useTool(tools, call, plan.signal);
      step.tools.push(record);
      messages.push({ role: 'tool', callId: call.callId, name: call.name, result: record.result, failed: record.failed });
      await plan.checkpoint?.(steps);
      yield { type: 'tool', step: number, callId: call.callId, name: call.name, state: record.failed ? 'failed' : 'succeeded' };
    }
  }
}

interface Said {
  text: string;
  calls: ToolCall[];
  reason: Extract<ModelPart, { type: 'finish' }>['reason'];
  usage: ModelUsage;
  costUsd: number;
}

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

async function* modelStep(models: Models, plan: TurnPlan, messages: readonly ModelMessage[]): AsyncGenerator<FrameBody, Said, void> {
  const said: Said = { text: '', calls: [], reason: 'other', usage: { input: 0, output: 0 }, costUsd: 0 };
  const parts = models.stream({
    model: plan.model,
    messages,
    tools: plan.tools.specs,
    ...(plan.tools.use === undefined && plan.tools.choice !== undefined ? { toolChoice: plan.tools.choice } : {}),
    ...(plan.stop === undefined ? {} : { stop: plan.stop }),
    ...(plan.format === undefined ? {} : { format: plan.format }),
    signal: plan.signal,
    promptTimeoutMs: plan.promptTimeoutMs,
    traceparent: plan.traceparent,
    ...(plan.whole === undefined ? {} : { whole: plan.whole }),
    ...(plan.system === undefined ? {} : { system: plan.system }),
    ...(plan.temperature === undefined ? {} : { temperature: plan.temperature }),
    ...(plan.maxOutputTokens === undefined ? {} : { maxTokens: plan.maxOutputTokens }),
  });
  for await (const part of parts) {
    if (part.type === 'text') {
      said.text += part.text;
      yield { type: 'delta', text: part.text };
    } else if (part.type === 'tool-call') {
      said.calls.push(part.call);
    } else if (part.type === 'finish') {
      said.reason = part.reason;
      said.usage = part.usage;
      said.costUsd = part.costUsd;
    }
  }
  return said;
}

async function useTool(tools: ToolBox, call: ToolCall, signal: AbortSignal): Promise<ToolRecord> {
  signal.throwIfAborted();
  const outcome = await tools.use(call, signal);
  signal.throwIfAborted();
  return { callId: call.callId, name: call.name, input: call.input, result: outcome.result, failed: outcome.failed };
}
