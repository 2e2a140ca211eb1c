import { z } from 'zod';
import { AgentId, StoredPrincipal, TurnTools } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { workFields, workIndex } from '@switchyard/work';
import { count, instant } from '../model/schema-fields.ts';

export const RunEndReason = z.enum(['completed', 'failed', 'killed', 'swept', 'watchdog_timeout', 'ghost_sweep']);
export type RunEndReason = z.infer<typeof RunEndReason>;

/**
 * One run of a sub-agent: turns in a separate session. As work it is parked while its turn runs, until its result was announced, and until
 * it is archived. A run has ended when it has an `endReason`; the write that sets it happens once.
 */
export const RunDocument = z.object({
  ...workFields,
  runId: z.string(),
  /** Session that requested the run, and its epoch then. A run does not outlive them. */
  parentKey: z.string(),
  parentEpoch: z.string(),
  /** The run whose session requested this one. */
  parentRunId: z.string().optional(),
  /** `parentKey` until the result was announced. */
  childOf: z.string().optional(),
  /** Place among the runs of the parent, `a0`… while it runs and `q0`… while it waits. Places are unique, which enforces the limits. */
  place: z.string().optional(),
  agentId: AgentId,
  task: z.string(),
  sessionKey: z.string(),
  depth: count,
  /** Rights of the caller. */
  principal: json(StoredPrincipal),
  /** Tools of the caller's turn and of the settings. */
  tools: json(TurnTools),
  /** Text of the current turn: the task, or the last message of `subagent.steer`. */
  message: z.string(),
  /** The current turn. Its id is stored before the turn exists, so that a repeated start finds it. */
  turnId: z.string().optional(),
  /** All turns of the run, for its usage. */
  turnIds: z.array(z.string()),
  steeredAt: instant,
  /** Time of the request, until the run has ended. */
  openSince: instant.optional(),
  createdAt: instant,
  startedAt: instant.optional(),
  finishedAt: instant.optional(),
  endReason: RunEndReason.optional(),
  error: z.string().optional(),
  finishReason: z.string().optional(),
  /** Summary of a long result, which the parent reads instead of it. The turn has the full text. */
  condensed: z.string().optional(),
  stepsExecuted: count.optional(),
  tokens: z.object({ total: count, cacheRead: count, cacheWrite: count }).optional(),
  costUsd: z.number().nonnegative().optional(),
  /** Runs whose results are announced with this one. Written before the announcement is started. */
  batch: z.array(z.string()).optional(),
  announceAttempts: count.optional(),
  archivedAt: instant.optional(),
  /** Expiry of the document. */
  forgetAt: instant.optional(),
});
export type RunDocument = z.infer<typeof RunDocument>;

/** Room for the longest task and the longest message. */
const MAX_BYTES = 8_388_608;

export const runCollection = collection({
  name: 'subagentRuns',
  schema: RunDocument,
  key: 'runId',
  maxBytes: MAX_BYTES,
  indexes: [
    workIndex,
    { fields: ['childOf', 'createdAt'], sparse: true },
    { fields: ['sessionKey'] },
    { fields: ['createdAt'] },
    { fields: ['openSince'], across: true, sparse: true },
  ],
  unique: [['childOf', 'place']],
  expires: { field: 'forgetAt', afterMs: 0 },
});

export function hasRunEnded({ endReason }: Pick<RunDocument, 'endReason'>): boolean {
  return endReason !== undefined;
}

/** Returns whether a run waits for another run of its parent. */
export function isRunQueued({ place }: Pick<RunDocument, 'place'>): boolean {
  return place?.startsWith(QUEUED) === true;
}

export const ACTIVE = 'a';
export const QUEUED = 'q';

/** Returns the places of one kind that no run has. */
export function listFreePlaces(kind: typeof ACTIVE | typeof QUEUED, max: number, taken: readonly RunDocument[]): string[] {
  const used = new Set(taken.map(({ place }) => place));
  return Array.from({ length: max }, (_, at) => `${kind}${at}`).filter((place) => !used.has(place));
}
