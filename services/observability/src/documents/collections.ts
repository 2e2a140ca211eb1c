import { AgentId, ERROR_CODES, FinishReason, TurnEvidence, TurnKind, TurnOrigin } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { z } from 'zod';

const instant = z.int().nonnegative();
const Count = z.int().nonnegative();

/** Usage of one model. Costs are integers of 10⁻¹² USD as decimal digits, so that sums of any number of calls are exact. */
export const ModelSum = z.object({
  /** `provider/model`; empty for calls whose model is unknown. */
  model: z.string(),
  calls: Count,
  /** Calls among them whose provider reported no usage. Their tokens and cost are in no sum. */
  unknownCalls: Count,
  /** Calls of a model without a list price. Their cost is unknown and counts as 0. */
  unpricedCalls: Count,
  input: Count,
  output: Count,
  cacheRead: Count,
  cacheWrite: Count,
  costPico: z.string(),
  /** Savings by prompt caches; negative if writing cost more than reading saved. */
  savedPico: z.string(),
});
export type ModelSum = z.infer<typeof ModelSum>;

/** Position of an event in the event log, whose name changes when the log is recreated. */
const position = { log: z.string(), seq: Count };

/** One ended turn, or one model call outside a turn: the raw row behind the rollups. */
export const RecordDocument = z.object({
  /** The id of the turn or of the usage record, so that an event that is published twice is stored once. */
  recordId: z.string(),
  ...position,
  /** When the log stored the event. */
  at: instant,
  expiresAt: instant,
  event: z.enum(['turn_completed', 'usage_recorded']),
  traceId: z.string().optional(),
  sessionKey: z.string().optional(),
  agentId: AgentId,
  client: z.string().optional(),
  channelId: z.string().optional(),
  kind: TurnKind.optional(),
  origin: json(TurnOrigin).optional(),
  /** Set on turns of tests and benchmarks. */
  synthetic: z.literal(true).optional(),
  state: z.string(),
  finishReason: FinishReason.optional(),
  failureCode: z.enum(ERROR_CODES).optional(),
  failureReason: z.string().optional(),
  providerStatus: z.int().optional(),
  rejected: z.string().optional(),
  /** Set on turns that ended badly. Sparse, so that errors are found without reading all rows. */
  lastError: z.string().optional(),
  model: z.string().optional(),
  steps: Count,
  attempts: Count,
  durationMs: Count,
  createdAt: instant.optional(),
  finishedAt: instant,
  calls: Count,
  tokens: Count,
  costUsd: z.number(),
  sums: json(z.array(ModelSum)),
  evidence: json(TurnEvidence).optional(),
});
export type RecordDocument = z.infer<typeof RecordDocument>;

export const recordCollection = collection({
  name: 'records',
  schema: RecordDocument,
  key: 'recordId',
  indexes: [
    { fields: ['at'] },
    { fields: ['sessionKey', 'at'], sparse: true },
    { fields: ['traceId', 'at'], sparse: true },
    { fields: ['agentId', 'at'] },
    { fields: ['lastError', 'at'], sparse: true },
    { fields: ['log', 'seq'], across: true },
  ],
  expires: { field: 'expiresAt', afterMs: 0 },
});

/** The sums of one agent and one model within an hour. */
export const HourEntry = ModelSum.extend({ agentId: AgentId });
export type HourEntry = z.infer<typeof HourEntry>;

/** All usage of a tenant within one hour. It contains every event of `log` up to `seq` and refuses to add one of them again. */
export const HourDocument = z.object({
  /** The hour since the epoch. */
  hourId: z.string(),
  at: instant,
  expiresAt: instant,
  ...position,
  /** Number of changes, so that no replica overwrites the change of another one. */
  revision: Count.optional(),
  /** Positions in logs that were lost within the hour, newest first. A slow replica may still fold their events. */
  earlier: json(z.array(z.object(position))).optional(),
  entries: json(z.array(HourEntry)),
  /** Identifies the computation of `recovered`. */
  origin: z.string().optional(),
  /** Sums of the rows that were read from their owners after the log was lost. They have no position and are in no other sum. */
  recovered: json(z.array(HourEntry)).optional(),
});
export type HourDocument = z.infer<typeof HourDocument>;

const HOUR_BYTES = 8_388_608;

export const hourCollection = collection({
  name: 'hours',
  schema: HourDocument,
  key: 'hourId',
  maxBytes: HOUR_BYTES,
  indexes: [{ fields: ['at'] }, { fields: ['at'], across: true }],
  expires: { field: 'expiresAt', afterMs: 0 },
});

/** Other events, kept for diagnosis. */
export const DiagnosticDocument = z.object({
  diagnosticId: z.string(),
  at: instant,
  expiresAt: instant,
  category: z.string(),
  eventType: z.string(),
  agentId: z.string().optional(),
  channelId: z.string().optional(),
  sessionKey: z.string().optional(),
  data: json(z.record(z.string(), z.unknown())),
});
export type DiagnosticDocument = z.infer<typeof DiagnosticDocument>;

export const diagnosticCollection = collection({
  name: 'diagnostics',
  schema: DiagnosticDocument,
  key: 'diagnosticId',
  indexes: [
    { fields: ['at'] },
    { fields: ['category', 'at'] },
    { fields: ['eventType', 'agentId', 'at'] },
    { fields: ['sessionKey', 'at'], sparse: true },
  ],
  expires: { field: 'expiresAt', afterMs: 0 },
});

/** How far the event log is ingested. */
export const PositionDocument = z.object({
  name: z.string(),
  ...position,
  /** When the log stored the last ingested event, or when the rows of a tenant were deleted. */
  at: instant.optional(),
  /** Set after the log was lost: usage since this instant has to be read from its owners. */
  recoverFrom: instant.optional(),
  /** The operations that have returned all usage since `recoverFrom`. */
  recovered: json(z.array(z.string())).optional(),
  /** Position in the log that was lost. */
  previous: json(z.object(position)).optional(),
});
export type PositionDocument = z.infer<typeof PositionDocument>;

export const positionCollection = collection({ name: 'positions', schema: PositionDocument, key: 'name' });
