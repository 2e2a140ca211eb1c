import { ServiceError, type ReplayDifference, type TurnRecording } from '@switchyard/contracts';
import type { ModelAnswer, ModelRef, ToolCall } from '@switchyard/models';
import { runAgentLoop } from '../agent-loop/agent-loop.ts';
import type { TurnOutcome, TurnPlan } from '../agent-loop/turn-plan.ts';
import type { ModelAccess } from '../agents/model-access.ts';
import { DISCOVER_TOOL } from '../tools/tool-discovery.ts';
import type { ToolBox } from '../tools/toolbox.ts';
import { listTools } from './record-turn.ts';

/** Characters of a value in a difference. */
const SHOWN_CHARS = 500;
/** Ends that depend on more than model answers and tool results. */
const NOT_REPLAYABLE: ReadonlySet<string> = new Set<NonNullable<TurnRecording['finishReason']>>([
  'context_exhausted',
  'circuit_open',
  'provider_degraded',
  'budget_exhausted',
  'session_reset',
  'error',
  'command',
]);

/** The agent of the recording as it is configured now. */
export interface ReplaySetup {
  model: ModelRef;
  system: string | undefined;
  tools: ToolBox;
  limits: Pick<TurnPlan, 'maxSteps' | 'maxTokens' | 'maxCostUsd' | 'promptTimeoutMs' | 'maxRepeats'>;
  signal: AbortSignal;
}

export interface Replay {
  /** Steps that the replay made. */
  steps: number;
  difference: ReplayDifference | null;
}

/** The replay calls the model more often than the recorded turn did. */
class ScriptEnded extends Error {}

/**
 * Runs the agent loop with the recorded answers and tool results, and compares tools, calls, end and answer with the recording. No model
 * and no tool is called.
 */
export async function replayTurn(recording: TurnRecording, setup: ReplaySetup): Promise<Replay> {
  const { finishReason, answer } = recording;
  if (finishReason === undefined || answer === undefined || NOT_REPLAYABLE.has(finishReason)) throw notReplayable(recording);
  const before = compareOffer(recording, setup);
  if (before) return { steps: 0, difference: before };
  const script = createScript(recording, setup);
  const { model, system, limits, signal } = setup;
  const loop = runAgentLoop(script.models, {
    ...limits,
    model,
    ...(system === undefined ? {} : { system }),
    messages: [{ role: 'user', text: recording.message }],
    tools: script.tools,
    signal,
  });
  try {
    const outcome = await finish(loop);
    return { steps: outcome.steps, difference: script.difference ?? compareEnd(recording, outcome) };
  } catch (error) {
    if (!(error instanceof ScriptEnded)) throw error;
    const step = script.answers;
    const extra = { step, field: 'finishReason', expected: finishReason, received: 'another model call' };
    return { steps: step, difference: script.difference ?? extra };
  }
}

async function finish(loop: AsyncGenerator<unknown, TurnOutcome, void>): Promise<TurnOutcome> {
  for (;;) {
    const next = await loop.next();
    if (next.done) return next.value;
  }
}

function compareOffer(recording: TurnRecording, { system, tools }: ReplaySetup): ReplayDifference | undefined {
  if (recording.system !== system) return difference(0, 'system', recording.system ?? 'none', system ?? 'none');
  const offered = new Map(listTools(tools.specs).map(({ name, digest }) => [name, digest]));
  for (const { name, digest } of recording.tools) {
    const received = offered.get(name);
    if (received !== digest) return difference(0, `tools.${name}`, digest, received ?? 'not offered');
    offered.delete(name);
  }
  const [added] = offered;
  return added && difference(0, `tools.${added[0]}`, 'not offered', added[1]);
}

function compareEnd(recording: TurnRecording, { result, steps }: TurnOutcome): ReplayDifference | null {
  const { finishReason = '', answer = '' } = recording;
  if (result.finishReason !== finishReason) return difference(steps, 'finishReason', finishReason, result.finishReason);
  return result.response === answer ? null : difference(steps, 'answer', answer, result.response);
}

/** Answers and results of the recording in place of a model and of tools. */
function createScript(recording: TurnRecording, { tools }: ReplaySetup) {
  const { steps, answer = '', finishReason, tokensUsed } = recording;
  const script = { answers: 0, difference: undefined as ReplayDifference | undefined };

  function next(): ModelAnswer {
    const step = steps[script.answers];
    if (script.answers > steps.length) throw new ScriptEnded();
    script.answers += 1;
    if (step === undefined) return lastAnswer();
    const calls = step.calls.map(({ name, input }, at): ToolCall => {
      return { callId: `call_${script.answers}_${at}`, name, input, text: JSON.stringify(input) };
    });
    return {
      text: step.text,
      reasoning: '',
      calls,
      reason: 'tool-calls',
      usage: { input: step.input, output: step.output },
      costUsd: step.costUsd,
    };
  }

  function lastAnswer(): ModelAnswer {
    const rest = (field: 'input' | 'output'): number =>
      steps.reduce((left, step) => Math.max(0, left - step[field]), tokensUsed?.[field] ?? 0);
    const reason = finishReason === 'output_starved' ? 'length' : 'stop';
    return { text: answer, reasoning: '', calls: [], reason, usage: { input: rest('input'), output: rest('output') }, costUsd: 0 };
  }

  const models: ModelAccess = {
    complete: async () => next(),
    streamTo: async () => next(),
  };
  const replayed: ToolBox = {
    specs: tools.specs,
    isReadOnly: () => false,
    isIdempotent: () => true,
    async use({ name }, { step, at = 0 }) {
      const { result = null, failed = true } = steps[step - 1]?.results[at] ?? {};
      const isOffered = tools.find?.(name) !== undefined || name === DISCOVER_TOOL;
      if (!isOffered && !failed) script.difference ??= difference(step, 'calls', name, 'not offered');
      return { result, failed };
    },
  };
  return Object.assign(script, { models, tools: replayed });
}

function difference(step: number, field: string, expected: string, received: string): ReplayDifference {
  return { step, field, expected: shorten(expected), received: shorten(received) };
}

function shorten(text: string): string {
  return text.length <= SHOWN_CHARS ? text : `${text.slice(0, SHOWN_CHARS).toWellFormed()}…`;
}

function notReplayable({ finishReason, failure }: TurnRecording): ServiceError {
  const end = finishReason ?? failure?.code ?? 'no answer';
  const message = `The recorded turn ended with ${end}, which its answers alone do not reproduce. Record a turn that ended with an answer.`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'NOT_REPLAYABLE' } });
}
