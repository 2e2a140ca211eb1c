import type { CallResult } from '@switchyard/client';

/** The state of a graph that was executed or is about to be. */
export type Progress = Extract<CallResult<'graph.status'>, { nodes: unknown }>;
