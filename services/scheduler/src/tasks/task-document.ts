import { AgentId, ExtractedTask } from '@switchyard/contracts';
import { collection } from '@switchyard/store';
import { workFields, workIndex } from '@switchyard/work';
import { z } from 'zod';

const instant = z.int().nonnegative();
const DAY_MS = 86_400_000;
const EXTRACTION_TTL_MS = 2 * DAY_MS;
const TASK_TTL_MS = 90 * DAY_MS;

/** The extraction of tasks from one turn. As work it orders a turn of its own and waits for its end. */
export const ExtractionDocument = z.object({
  ...workFields,
  /** The turn with the conversation, so that a turn has one extraction. */
  sourceTurnId: z.string(),
  sessionKey: z.string(),
  agentId: AgentId,
  turnId: z.string().optional(),
  /** Set while the turn has not ended, for the sweep that asks for ends. */
  turnPending: z.literal(true).optional(),
  /** Position of the last message that was read. */
  messageIndex: z.int().nonnegative().optional(),
  createdAt: instant,
  finishedAt: instant.optional(),
  error: z.string().optional(),
});
export type ExtractionDocument = z.infer<typeof ExtractionDocument>;

export const extractionCollection = collection({
  name: 'extractions',
  schema: ExtractionDocument,
  key: 'sourceTurnId',
  indexes: [workIndex, { fields: ['turnPending'], across: true, sparse: true }],
  expires: { field: 'createdAt', afterMs: EXTRACTION_TTL_MS },
});

/** A follow-up that was found in a conversation. */
export const TaskDocument = z.object({ ...ExtractedTask.shape, agentId: AgentId });
export type TaskDocument = z.infer<typeof TaskDocument>;

export const taskCollection = collection({
  name: 'tasks',
  schema: TaskDocument,
  key: 'id',
  indexes: [{ fields: ['agentId', 'createdAt'] }],
  expires: { field: 'createdAt', afterMs: TASK_TTL_MS },
});
