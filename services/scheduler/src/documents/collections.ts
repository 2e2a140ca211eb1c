import {
  AgentId,
  ExclusionWindow,
  JobDelivery,
  MissedRuns,
  OverlapPolicy,
  RunBudget,
  SessionStrategy,
  StoredPrincipal,
} from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { roomCollection, roomIndexes, roomSlots, workFields, workIndex } from '@switchyard/work';
import { z } from 'zod';
import { Schedule } from '../schedule/schedule.ts';

const instant = z.int().nonnegative();
const count = z.int().nonnegative();

/** How long the runs of a job are kept after their end. */
const RUN_TTL_MS = 30 * 86_400_000;
/** The longest message, whatever its encoding. */
const JOB_BYTES = 8_388_608;

/** A job. As work it waits for its next fire; it ends only when it is removed. */
export const JobDocument = z.object({
  ...workFields,
  jobId: z.string(),
  name: z.string(),
  agentId: AgentId,
  message: z.string(),
  schedule: json(Schedule),
  /** The client that made the job. Its turns run with these rights. */
  principal: json(StoredPrincipal),
  model: z.string().optional(),
  timeoutSeconds: z.int().positive().optional(),
  sessionStrategy: SessionStrategy.default('fresh'),
  overlap: OverlapPolicy.default('skip'),
  missedRuns: json(MissedRuns).optional(),
  jitterMs: count.default(0),
  exclude: json(z.array(ExclusionWindow)).optional(),
  deliverTo: json(JobDelivery).optional(),
  budget: json(RunBudget).optional(),
  enabled: z.boolean(),
  pausedReason: z.string().optional(),
  /** All fires up to this instant have a run. */
  firedUntil: instant,
  /** Increases with each change by a client, so that a fire of the old schedule does not overwrite the new one. */
  revision: count.default(0),
  createdAt: instant,
  lastRunAt: instant.optional(),
  lastError: z.string().optional(),
  consecutiveErrors: count.default(0),
  /** After errors the job fires no earlier. */
  backoffUntil: instant.optional(),
  /** The last run whose end was counted. */
  countedRunId: z.string().optional(),
  /** Durations of the last successful runs, to notice one that takes much longer. */
  durations: json(z.array(count)).optional(),
  /** Fires since the last successful run. */
  firesSinceSuccess: count.default(0),
});
export type JobDocument = z.infer<typeof JobDocument>;

export const jobCollection = collection({
  name: 'jobs',
  schema: JobDocument,
  key: 'jobId',
  maxBytes: JOB_BYTES,
  indexes: [workIndex],
  unique: [['name', 'agentId']],
});

/** One fire of a job. As work it orders a turn and waits for its end. */
export const RunDocument = z.object({
  ...workFields,
  /** `<job>@<instant>`, so that a fire has one run on all replicas. It is also the key of the turn. */
  runId: z.string(),
  jobId: z.string(),
  agentId: AgentId,
  jobName: z.string(),
  /** The instant at which the run was due. */
  runAt: instant,
  /** The client of the turn. */
  principal: json(StoredPrincipal),
  turnId: z.string().optional(),
  /** Set while the turn has not ended, for the sweep that asks for ends. */
  turnPending: z.literal(true).optional(),
  startedAt: instant.optional(),
  finishedAt: instant.optional(),
  status: z.enum(['ok', 'error', 'skipped']).optional(),
  error: z.string().optional(),
  summary: z.string().optional(),
  totalTokens: count.optional(),
  costUsd: z.number().optional(),
  llmCalls: count.optional(),
  toolCalls: count.optional(),
  failedTools: json(z.array(z.string())).optional(),
  /** Where the text was sent, or why it was not. */
  delivery: z.string().optional(),
});
export type RunDocument = z.infer<typeof RunDocument>;

export const runCollection = collection({
  name: 'runs',
  schema: RunDocument,
  key: 'runId',
  indexes: [
    workIndex,
    ...roomIndexes,
    { fields: ['jobId', 'runAt'] },
    { fields: ['jobId', 'state'] },
    { fields: ['turnPending'], across: true, sparse: true },
  ],
  unique: [[...roomSlots]],
  expires: { field: 'finishedAt', afterMs: RUN_TTL_MS },
});

/** The agents whose runs wait or have not ended. */
export const roomsCollection = roomCollection('run_rooms');
