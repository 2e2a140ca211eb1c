import { GraphDefinition, GraphNode, GraphWarning, StoredPrincipal } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { roomCollection, roomIndexes, roomSlots, workFields, workIndex } from '@switchyard/work';
import { z } from 'zod';
import { RunState, Spent } from '../engine/run-state.ts';
import { StepQuestion } from './step-question.ts';

const instant = z.int().nonnegative();
const count = z.int().nonnegative();

const DAY_MS = 86_400_000;
/** How long a definition is kept after its last use, and a run after its end. */
const RETENTION_MS = 30 * DAY_MS;
/** How long an output and its file are kept. */
export const OUTPUT_RETENTION_MS = RETENTION_MS + DAY_MS;
/** A definition and the inputs of the longest length, whatever their encoding. */
const DEFINITION_BYTES = 8_388_608;
/** The longest text of one turn, whatever its encoding. */
const TEXT_BYTES = 8_388_608;

/** A definition as it is stored: nodes with their defaults, and dependencies instead of edges. */
export const StoredDefinition = GraphDefinition.extend({ nodes: z.array(GraphNode) }).omit({ edges: true });
export type StoredDefinition = z.infer<typeof StoredDefinition>;

export const GraphDocument = z.object({
  graphId: z.string(),
  client: z.string(),
  definition: json(StoredDefinition),
  warnings: json(z.array(GraphWarning)),
  /** The saved name that the graph was loaded from. */
  name: z.string().optional(),
  latestRunId: z.string().optional(),
  createdAt: instant,
  usedAt: instant,
});
export type GraphDocument = z.infer<typeof GraphDocument>;

export const graphCollection = collection({
  name: 'graphs',
  schema: GraphDocument,
  key: 'graphId',
  maxBytes: DEFINITION_BYTES,
  indexes: [{ fields: ['usedAt'] }],
  expires: { field: 'usedAt', afterMs: RETENTION_MS },
});

export const SavedGraphDocument = z.object({
  name: z.string(),
  client: z.string(),
  definition: json(StoredDefinition),
  nodeCount: count,
  createdAt: instant,
});
export type SavedGraphDocument = z.infer<typeof SavedGraphDocument>;

export const savedGraphCollection = collection({ name: 'saved', schema: SavedGraphDocument, key: 'name', maxBytes: DEFINITION_BYTES });

/** One run. As work it starts the steps of its nodes and waits for their ends; after its end it waits to be resumed. */
export const RunDocument = z.object({
  ...workFields,
  runId: z.string(),
  graphId: z.string(),
  /** The client that executed the graph. All turns run with these rights. */
  principal: json(StoredPrincipal),
  client: z.string(),
  agentId: z.string().optional(),
  /** A copy, so that a later change or deletion of the graph does not reach the run. */
  definition: json(StoredDefinition),
  inputs: json(z.record(z.string(), z.string())),
  announce: json(z.object({ channelType: z.string(), channelId: z.string() })).optional(),
  run: json(RunState),
  /** Status of `run`, for queries. */
  status: z.string(),
  /** The event of the start was emitted. */
  started: z.boolean(),
  cancelRequested: z.boolean(),
  /** One of the slots of the tenant, until the end. */
  liveSlot: count.optional(),
  idempotencyKey: z.string().optional(),
  startedAt: instant,
  completedAt: instant.optional(),
});
export type RunDocument = z.infer<typeof RunDocument>;

export const runCollection = collection({
  name: 'runs',
  schema: RunDocument,
  key: 'runId',
  maxBytes: DEFINITION_BYTES,
  indexes: [workIndex, { fields: ['startedAt'] }, { fields: ['status', 'startedAt'] }, { fields: ['graphId', 'startedAt'] }],
  unique: [['client', 'idempotencyKey'], ['liveSlot']],
  expires: { field: 'completedAt', afterMs: RETENTION_MS },
});

/** One turn of a node, or one request for approval. As work it holds a slot of its tenant from the order of the turn to its end. */
export const StepDocument = z.object({
  ...workFields,
  /** `run/node/attempt/step`. It is also the key of the turn. */
  stepId: z.string(),
  runId: z.string(),
  principal: json(StoredPrincipal),
  /** The order without its fixed parts; absent after the end. */
  order: json().optional(),
  /** The question of an approval gate, instead of an order. */
  question: json(StepQuestion).optional(),
  turnId: z.string().optional(),
  /** The request for the approval. */
  requestId: z.string().optional(),
  /** Set while the turn or the request has not ended, for the sweep that asks for ends. */
  turnPending: z.literal(true).optional(),
  createdAt: instant,
  startedAt: instant.optional(),
  finishedAt: instant.optional(),
  text: z.string().optional(),
  error: z.string().optional(),
  permanent: z.boolean().optional(),
  spent: json(Spent).optional(),
});
export type StepDocument = z.infer<typeof StepDocument>;

export const stepCollection = collection({
  name: 'steps',
  schema: StepDocument,
  key: 'stepId',
  maxBytes: TEXT_BYTES,
  indexes: [workIndex, ...roomIndexes, { fields: ['runId'] }, { fields: ['turnPending'], across: true, sparse: true }],
  unique: [[...roomSlots]],
  expires: { field: 'createdAt', afterMs: RETENTION_MS + DAY_MS },
});

export const roomsCollection = roomCollection('rooms');

/** The output of a completed node. */
export const OutputDocument = z.object({
  /** `run/node`. */
  outputId: z.string(),
  runId: z.string(),
  nodeId: z.string(),
  /** The output, or its beginning if `blobId` is set. */
  text: z.string(),
  /** Characters of the complete output, if `blobId` is set. */
  totalChars: count.optional(),
  /** The kept blob with the complete output. */
  blobId: z.string().optional(),
  createdAt: instant,
});
export type OutputDocument = z.infer<typeof OutputDocument>;

export const outputCollection = collection({
  name: 'outputs',
  schema: OutputDocument,
  key: 'outputId',
  maxBytes: TEXT_BYTES,
  indexes: [{ fields: ['runId'] }],
  expires: { field: 'createdAt', afterMs: OUTPUT_RETENTION_MS },
});
