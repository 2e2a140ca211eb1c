import { AgentId, MemoryType, TrustLevel } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { z } from 'zod';

const instant = z.int().nonnegative();

/** One thing remembered; of one that was forgotten, only that it was, so that every index hears of it. */
export const EntryDocument = z.object({
  id: z.string(),
  agentId: AgentId,
  userId: z.string(),
  /** The client that alone may find it; empty where everybody of the tenant may. */
  owner: z.string(),
  content: z.string(),
  memoryType: MemoryType,
  trustLevel: TrustLevel,
  who: z.string(),
  channel: z.string().optional(),
  sessionKey: z.string().optional(),
  sourceType: z.enum(['system', 'conversation', 'tool', 'web', 'api', 'unknown']),
  taintLevel: z.enum(['clean', 'wrapped', 'raw']),
  tags: z.array(z.string()),
  metadata: json(z.record(z.string(), z.unknown())).optional(),
  createdAt: instant,
  /** From then on nobody finds it. */
  expiresAt: instant.optional(),
  /** When it was last written, by the database's clock: the indexes follow it. */
  changedAt: instant,
  goneAt: instant.optional(),
  /** Made by a provider: a byte for each place, as base64. */
  vector: z.string().optional(),
  /** Which model was asked for it, and at which number of places; without a vector, one that refused the text. */
  vectorOf: z.string().optional(),
  /** A replica asks for its vector, until then at most. */
  takenBy: z.string().optional(),
  takenUntil: instant.optional(),
  /** Of an observation: when it was made, which memories it stands for, and of which sessions those were kept. */
  derivedAt: instant.optional(),
  sourceIds: z.array(z.string()).optional(),
  sourceSessions: z.array(z.string()).optional(),
  /** The observation that stands for it: until that is gone nobody finds it. */
  mergedInto: z.string().optional(),
  /** When the document itself goes. */
  forgetAt: instant.optional(),
});
export type EntryDocument = z.infer<typeof EntryDocument>;

/** The vector of a question that was asked, as a provider made it. */
export const QuestionDocument = z.object({
  /** A hash of who asked what, and of the model. */
  id: z.string(),
  /** A byte for each place, as base64. */
  vector: z.string(),
  madeAt: instant,
  /** When the document goes. */
  forgetAt: instant.optional(),
});
export type QuestionDocument = z.infer<typeof QuestionDocument>;

export const questionCollection = collection({
  name: 'questions',
  schema: QuestionDocument,
  key: 'id',
  indexes: [{ fields: ['madeAt'], across: true }],
  expires: { field: 'forgetAt', afterMs: 0 },
});

/** When what an agent remembers was reviewed last. */
export const ReviewDocument = z.object({
  agentId: AgentId,
  /** The time of its schedule that this was for. */
  dueAt: instant,
});
export type ReviewDocument = z.infer<typeof ReviewDocument>;

export const reviewCollection = collection({ name: 'reviews', schema: ReviewDocument, key: 'agentId' });

/** An index that has not followed for half of this time begins anew. */
export const GONE_MS = 86_400_000;
/** As large as a request may be, whatever its letters are. */
const ENTRY_BYTES = 8_388_608;

export const entryCollection = collection({
  name: 'entries',
  schema: EntryDocument,
  key: 'id',
  maxBytes: ENTRY_BYTES,
  indexes: [
    { fields: ['changedAt'], across: true },
    { fields: ['vectorOf', 'goneAt'], across: true },
    { fields: ['createdAt'], across: true },
    { fields: ['sessionKey'], sparse: true },
    { fields: ['derivedAt'], sparse: true },
  ],
  expires: { field: 'forgetAt', afterMs: 0 },
});
