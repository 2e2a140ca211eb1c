import type { StatelessResult } from '@switchyard/contracts';
import type { JsonFormat, ModelMessage, ModelRef } from '@switchyard/models';
import type { Call, Reserved } from '../budgets/budgets.ts';
import type { WindowGuard } from '../context-window/window-guard.ts';
import type { PruningGiven } from './tool-result-pruning.ts';
import type { Trim } from './tool-result-trimming.ts';
import type { OutputFinding } from '../screening/output-finding.ts';
import type { Mark, Spent, Standing } from '../model/checkpoint-log.ts';
import type { CallersToolBox, ToolBox } from './toolbox.ts';

/** Everything one turn needs to run; it knows neither sessions nor transports. */
export interface TurnPlan {
  model: ModelRef;
  /** Names the conversation between its steps, and whose it is. */
  conversation?: string;
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
  /** Told of the text as it comes, which no frame says. Without it nobody reads along, and the model may be asked for all of it at once. */
  tell?: ((text: string) => void) | undefined;
  signal: AbortSignal;
  /** The span of the turn, which its model calls belong to. */
  traceparent?: string | undefined;
  /** Tokens that an answer may have which was cut off: it goes on once. Without it none does. */
  escalateTo?: (() => Promise<number>) | undefined;
  /** How often a model that used tools and then says nothing is asked to go on, before it is asked to answer. Without it never. */
  followUps?: number | undefined;
  /** So many steps in a row that are the same, to what their tools answer, end it with `context_loop`. */
  maxRepeats?: number | undefined;
  /** How much of its model’s window is known to be there. Without it nobody looks. */
  guard?: WindowGuard | undefined;
  /** Makes room among the answers of its tools, before each call of the model. */
  trim?: Trim | undefined;
  /** What becomes of old results of its tools. Without it they are told whole. */
  pruning?: PruningGiven | undefined;
  /** Only what stands in `<final>` is its answer. */
  finalOnly?: boolean | undefined;
  /** Told of what was found in an answer, and taken out of it. */
  found?: ((finding: OutputFinding) => void) | undefined;
  /** Told of what its owner should know and nobody needs to act on. */
  warn?: ((warning: string) => void) | undefined;
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
  /** By all runs of it. */
  spent: Spent;
  latencyMs: number;
}
