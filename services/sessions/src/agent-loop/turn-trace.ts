import { createHash } from 'node:crypto';
import type { AgentConfig, Screened, StepBudget, StepEvidence, ToolEvidence, TurnEvidence } from '@switchyard/contracts';
import type { ModelAnswer, ModelRef, ToolCall } from '@switchyard/models';
import type { OutputFinding } from '../screening/output-finding.ts';
import type { CheckpointEntry, TurnUsage } from '../model/checkpoint-log.ts';
import type { WindowMeasurement } from '../context-window/window-guard.ts';
import { createLayerRecorder, type StartLayer } from '../context/context-layers.ts';
import { createPlanTracker } from './step-plan.ts';
import type { TurnOutcome } from './turn-plan.ts';
import type { FrameBody } from '../frames/frame-splitting.ts';

/** Counts of what the prompt contained besides the question. */
export type PromptTrace = TurnEvidence['told'];

/** Records the course of a turn step by step: counts, times and digests, but no text. Written with the end of the turn. */
export interface TurnTracer {
  /** Records the prompt. */
  recordPrompt: (sent: PromptTrace) => void;
  /** Starts the clock of a layer that builds the prompt. */
  startLayer: StartLayer;
  /** Records the number and length of memories. */
  recordRecall: (recordFinding: NonNullable<TurnEvidence['recalled']>) => void;
  /** Records how full the context window is. */
  recordWindow: (window: WindowMeasurement) => void;
  /** Records a suspicious message. */
  recordScreening: (screened: Screened) => void;
  /** Records sensitive text in the output. */
  found: (finding: OutputFinding) => void;
  recordFrame: (frame: FrameBody) => void;
  /** Records a piece of output. */
  recordText: (text: string) => void;
  recordCheckpoint: (mark: CheckpointEntry) => void;
  /** Records a model call of the current step; without a reply if the provider reported no usage. */
  recordModelCall: (requested: ModelRef, reply: Pick<ModelAnswer, 'costUsd' | 'model'> | undefined) => void;
  /** Records the budgets of the current step before its model call. */
  recordBudget: (budget: StepBudget) => void;
  /** Records that the current step calls its model again. */
  recordRetry: () => void;
  /** Returns the trace within its size limit. */
  build: (model: ModelRef | undefined, outcome?: Pick<TurnOutcome, 'result'>) => TurnEvidence;
}

/** Limits: the first and last steps are kept, and the first tools of a step. */
const FIRST_STEPS = 20;
const LAST_STEPS = 40;
const MAX_TOOLS = 16;
const DIGEST_CHARS = 12;

export interface TurnTracerOptions {
  now: () => number;
  /** Steps of earlier runs. */
  earlierSteps: number;
  /** Usage of earlier runs. The outcome of the turn contains it. */
  earlierUsage: Readonly<Pick<TurnUsage, 'input' | 'output'>>;
  /** Calls of the last of these steps that have no result. This run makes them. */
  pendingCalls?: readonly Pick<ToolCall, 'name' | 'input'>[];
  /** Plan settings of the agent. */
  sep: AgentConfig['sep'];
}

interface Open {
  step: StepEvidence;
  began: number;
  /** Start of the current call. */
  calling: number;
  /** Model calls of the step. */
  calls: number;
  /** An earlier run has called the model. */
  resumed?: true;
}

export function createTurnTracer({ now, earlierSteps, earlierUsage, pendingCalls = [], sep }: TurnTracerOptions): TurnTracer {
  const planned = createPlanTracker(sep, earlierSteps);
  const steps: StepEvidence[] = [];
  let sent: PromptTrace;
  let recalled: TurnEvidence['recalled'];
  let window: WindowMeasurement | undefined;
  let screened: Screened | undefined;
  let output: TurnEvidence['output'];
  const started = now();
  const layers = createLayerRecorder(now);
  let dropped = 0;
  let open: Open | undefined;
  // A copy, because the agent loop adds to its own.
  let noted = { input: earlierUsage.input, output: earlierUsage.output };

  function begin(step: number): void {
    const began = now();
    open = { step: { step, at: began - started, ms: 0, chars: 0 }, began, calling: began, calls: 0 };
    steps.push(open.step);
    if (steps.length > FIRST_STEPS + LAST_STEPS) {
      steps.splice(FIRST_STEPS, 1);
      dropped += 1;
    }
  }

  /** Opens the step whose calls an earlier run has left. */
  function resume(): void {
    begin(earlierSteps);
    if (!open) return;
    open.resumed = true;
    open.step.tools = toTools(pendingCalls);
    if (pendingCalls.length > MAX_TOOLS) open.step.moreTools = pendingCalls.length - MAX_TOOLS;
  }

  return {
    recordPrompt: (what) => void (sent = what),
    startLayer: layers.start,
    recordRecall: (found) => void (recalled = found),
    recordWindow: (measured) => void (window = measured),
    recordScreening: (what) => void (screened = screened && screened.score >= what.score ? screened : what),
    found({ redacted, warned }) {
      output = { redacted: union(output?.redacted, redacted), warned: union(output?.warned, warned) };
    },
    recordFrame(frame) {
      if (frame.type === 'step') return begin(frame.step);
      if (!open && frame.type === 'tool' && pendingCalls.length > 0) resume();
      if (open && frame.type === 'tool' && frame.state === 'called') open.calling = now();
    },
    recordText(text) {
      if (!open) return;
      open.step.firstMs ??= now() - open.began;
      open.step.chars += text.length;
    },
    recordCheckpoint(mark) {
      if (!open) return;
      if (mark.mark === 'heard') open.step.heard = (open.step.heard ?? 0) + mark.count;
      else if (mark.mark === 'said') {
        planned.addText(open.step.step, mark.text);
        noted = { input: noted.input + mark.input, output: noted.output + mark.output };
        Object.assign(open.step, { ms: now() - open.began, input: mark.input, output: mark.output });
        open.step.tools = toTools(mark.calls);
        if (mark.calls.length > MAX_TOOLS) open.step.moreTools = mark.calls.length - MAX_TOOLS;
      } else if (mark.mark === 'result') recordResult(open.step.tools, mark, now() - open.calling);
    },
    recordModelCall(requested, reply) {
      if (!open) return;
      const { step } = open;
      open.calls += 1;
      if (open.calls > 1) step.calls = open.calls;
      if (reply === undefined) return;
      if (reply.costUsd > 0) step.costUsd = (step.costUsd ?? 0) + reply.costUsd;
      step.model = getName(reply.model ?? requested);
      if (step.model !== getName(requested)) step.fallback = true;
    },
    recordBudget(budget) {
      if (open) open.step.budget = budget;
    },
    recordRetry() {
      if (open) open.step.retries = (open.step.retries ?? 0) + 1;
    },
    build(model, outcome) {
      const last = outcome && open;
      if (last && !last.resumed && last.step.input === undefined) {
        const { input, output } = outcome.result.tokensUsed;
        Object.assign(last.step, { ms: now() - last.began, input: input - noted.input, output: output - noted.output });
      }
      const unlisted = steps[0]?.step === earlierSteps ? earlierSteps - 1 : earlierSteps;
      const passes = layers.build();
      const plan = planned.plan(open?.step.step ?? 0, outcome !== undefined);
      return {
        ...(model ? { model: getName(model) } : {}),
        ...(sent ? { told: sent } : {}),
        ...(recalled ? { recalled } : {}),
        ...(window ? { window } : {}),
        ...(passes ? { layers: passes } : {}),
        ...(screened ? { screened } : {}),
        ...(output ? { output } : {}),
        ...(plan ? { plan } : {}),
        ...(unlisted > 0 ? { before: unlisted } : {}),
        steps,
        ...(dropped > 0 ? { dropped } : {}),
      };
    },
  };
}

function getName({ provider, modelId }: ModelRef): string {
  return `${provider}/${modelId}`;
}

function toTools(calls: readonly Pick<ToolCall, 'name' | 'input'>[]): ToolEvidence[] {
  return calls.slice(0, MAX_TOOLS).map(({ name, input }) => ({ name, args: getDigest(input) }));
}

function union(known: readonly string[] = [], names: readonly string[]): string[] {
  return [...new Set([...known, ...names])];
}

/** Results arrive in call order. */
function recordResult(
  tools: ToolEvidence[] | undefined,
  { result, failed, error, whole, wholeChars }: Extract<CheckpointEntry, { mark: 'result' }>,
  ms: number,
): void {
  const open = tools?.find((tool) => tool.failed === undefined);
  if (!open) return;
  const text = getText(result);
  Object.assign(open, {
    failed,
    ms,
    chars: text.length,
    result: getDigest(text),
    ...(error === undefined ? {} : { error: error.code, ...(error.reason === undefined ? {} : { reason: error.reason }) }),
    ...(whole === undefined ? {} : { stored: whole, ...(wholeChars === undefined ? {} : { storedChars: wholeChars }) }),
  });
}

function getText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null');
}

function getDigest(value: unknown): string {
  return createHash('sha256').update(getText(value)).digest('hex').slice(0, DIGEST_CHARS);
}
