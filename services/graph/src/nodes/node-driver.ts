import type { GraphNode } from '@switchyard/contracts';

/** How one step of a node ended. A step is one turn. */
export interface StepEnd {
  /** The answer; also of a failed turn that left one. */
  text: string;
  error?: string | undefined;
  /** The step fails again when it is repeated. */
  permanent?: boolean | undefined;
}

/** Material for a step that an earlier step wrote. It travels beside the message, as untrusted data. */
export interface Material {
  title: string;
  text: string;
}

/** One turn that a node needs. The task of the node is its message, followed by the instructions. */
export interface StepRequest {
  agent?: string | undefined;
  model?: string | undefined;
  maxSteps?: number | undefined;
  instructions?: string;
  material?: readonly Material[];
  /** Steps with the same number share a session. */
  thread: number;
}

/** What a node does next. */
export type NodeCommand =
  /** All steps that the node needs so far, in order. Those that were started are not started again. */
  | { kind: 'run'; steps: readonly StepRequest[] }
  | { kind: 'ask'; message: string; timeoutMs: number }
  | { kind: 'complete'; output: string }
  | { kind: 'fail'; error: string; permanent?: boolean };

/** The steps of one attempt in order; undefined while a step has not ended. */
export type StepEnds = readonly (StepEnd | undefined)[];

/**
 * The state machine of one node type: from the ends of the steps of an attempt to the next command. It has no state besides the ends, so
 * that another replica continues from the stored steps.
 */
export interface NodeDriver {
  next(node: GraphNode, ends: StepEnds): NodeCommand;
  /** Returns what a failed or timed out attempt has written so far; empty without any. */
  getPartialOutput(node: GraphNode, ends: StepEnds): string;
}

/** Returns the failure of the first step that failed. */
export function findFailure(ends: StepEnds): NodeCommand | undefined {
  const failed = ends.find((end) => end?.error !== undefined);
  if (failed?.error === undefined) return undefined;
  return { kind: 'fail', error: failed.error, ...(failed.permanent === true && { permanent: true }) };
}

/** Returns the texts of the steps that have written one. */
export function getTexts(ends: StepEnds): string[] {
  return ends.flatMap((end) => (end === undefined || end.text === '' ? [] : [end.text]));
}
