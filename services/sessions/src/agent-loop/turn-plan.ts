import type { StatelessResult } from '@switchyard/contracts';
import type { JsonFormat, ModelMessage, ModelRef } from '@switchyard/models';
import type { Call, Reserved } from '../budgets/budgets.ts';
import type { WindowGuard } from '../context-window/window-guard.ts';
import type { PruningOptions } from './tool-result-pruning.ts';
import type { Trim } from './tool-result-trimming.ts';
import type { OutputFinding } from '../screening/output-finding.ts';
import type { CheckpointEntry, TurnUsage, ResumeState } from '../model/checkpoint-log.ts';
import type { CallerToolBox, ToolBox } from './toolbox.ts';

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
  /** Told of the text as it comes, which no frame says. Without it nobody reads along, and the model may be asked for all of it at once. */
  onText?: ((text: string) => void) | undefined;
  signal: AbortSignal;
  /** Trace context of the turn span, parent of the model calls. */
  traceparent?: string | undefined;
  /** Returns the output limit for continuing a truncated answer. Without it answers are not continued. */
  escalateTo?: (() => Promise<number>) | undefined;
  /** How often a model that used tools and then says nothing is asked to go on, before it is asked to answer. Without it never. */
  silenceRetries?: number | undefined;
  /** So many steps in a row that are the same, to what their tools answer, end it with `context_loop`. */
  maxRepeats?: number | undefined;
  /** Context window limits. Without it they are not checked. */
  guard?: WindowGuard | undefined;
  /** Removes old tool results before each model call. */
  trim?: Trim | undefined;
  /** What becomes of old results of its tools. Without it they are told whole. */
  pruning?: PruningOptions | undefined;
  /** Only what stands in `<final>` is its answer. */
  finalOnly?: boolean | undefined;
  /** Told of what was found in an answer, and taken out of it. */
  onFinding?: ((finding: OutputFinding) => void) | undefined;
  /** Told of what its owner should know and nobody needs to act on. */
  onWarning?: ((warning: string) => void) | undefined;
  /** Told of every step that calls tools and of every result, before anything follows from it. */
  onCheckpoint?: (mark: CheckpointEntry) => Promise<void>;
  /** What others have said meanwhile: asked before each call of the model, with the number of those that were made. */
  takeMerged?: (step: number) => Promise<readonly string[]>;
  /** Where an earlier run of the turn came to. */
  resumeFrom?: ResumeState;
}

export interface TurnOutcome {
  result: StatelessResult;
  model: ModelRef;
  steps: number;
  /** By all runs of it. */
  spent: TurnUsage;
  latencyMs: number;
}
