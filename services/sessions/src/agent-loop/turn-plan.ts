import type { StatelessResult, StepBudget } from '@switchyard/contracts';
import type { JsonFormat, ModelAnswer, ModelMessage, ModelRef } from '@switchyard/models';
import type { Call, Reserved } from '../budgets/budgets.ts';
import type { StartLayer } from '../context/context-layers.ts';
import type { WindowGuard, WindowMeasurement } from '../context-window/window-guard.ts';
import type { PruningOptions } from './tool-result-pruning.ts';
import type { Trim } from './tool-result-trimming.ts';
import type { OutputFinding } from '../screening/output-finding.ts';
import type { CheckpointEntry, TurnUsage, ResumeState } from '../model/checkpoint-log.ts';
import type { CallerToolBox, ToolBox } from '../tools/toolbox.ts';

/** Everything that the agent loop needs to run a turn. Independent of sessions and transports. */
export interface TurnPlan {
  model: ModelRef;
  /** Identifies the conversation and its owner across steps, for prompt caches. */
  conversation?: string;
  system?: string;
  /** History, with the question last. */
  messages: readonly ModelMessage[];
  tools: ToolBox | CallerToolBox;
  stop?: readonly string[];
  format?: JsonFormat;
  maxSteps: number;
  /** Token limit of the turn, after which it ends with `budget_exceeded`. */
  maxTokens: number;
  /** Cost limit in US dollars. */
  maxCostUsd?: number | undefined;
  /** Budget of the caller, reserved before each model call. */
  budget?: { reserve(call: Call): Reserved | Promise<Reserved> } | undefined;
  maxOutputTokens?: number;
  temperature?: number;
  promptTimeoutMs: number;
  /** Receives text as it is generated. Without it the model is called without streaming. */
  onText?: ((text: string) => void) | undefined;
  signal: AbortSignal;
  /** Trace context of the turn span, parent of the model calls. */
  traceparent?: string | undefined;
  /** Returns the output limit for continuing a truncated answer. Without it answers are not continued. */
  escalateTo?: (() => Promise<number>) | undefined;
  /** Number of retries when the model returns nothing after tool results. Without it there are none. */
  silenceRetries?: number | undefined;
  /** Number of identical consecutive steps that end the turn with `context_loop`. */
  maxRepeats?: number | undefined;
  /** Context window limits. Without it they are not checked. */
  guard?: WindowGuard | undefined;
  /** Removes old tool results before each model call. */
  trim?: Trim | undefined;
  /** Shortens old tool results. Without it they stay complete. */
  pruning?: PruningOptions | undefined;
  /** The caller continues the conversation itself: the result includes the fields that the provider expects back, and whether it filtered the answer. */
  returnsModelDetails?: boolean;
  /** Only text inside `<final>` is the answer. */
  finalOnly?: boolean | undefined;
  /** Called for sensitive text that was removed from an answer. */
  onFinding?: ((finding: OutputFinding) => void) | undefined;
  /** Called for warnings that need no action. */
  onWarning?: ((warning: string) => void) | undefined;
  /** Called after each model call with the requested model; without a reply if the provider reported no usage. */
  onModelCall?: ((requested: ModelRef, reply: Pick<ModelAnswer, 'usage' | 'costUsd' | 'model'> | undefined) => void) | undefined;
  /** Called in each step before its model call. */
  onBudget?: ((budget: StepBudget) => void) | undefined;
  /** Called with the measurement of each prompt. */
  onWindow?: ((window: WindowMeasurement) => void) | undefined;
  /** Called before a layer changes the prompt. */
  startLayer?: StartLayer | undefined;
  /** Called for every step with tool calls and for every result, before the loop continues. */
  onCheckpoint?: (mark: CheckpointEntry) => Promise<void>;
  /** Returns messages merged since the last step. Called before each model call with the number of steps. */
  takeMerged?: (step: number) => Promise<readonly string[]>;
  /** State after an earlier run. */
  resumeFrom?: ResumeState;
}

export interface TurnOutcome {
  result: StatelessResult;
  model: ModelRef;
  steps: number;
  /** Usage of all runs of the turn. */
  spent: TurnUsage;
  latencyMs: number;
}
