import { collection, json } from '@switchyard/store';
import { z } from 'zod';

const RETENTION_MS = 24 * 3_600_000;
const ANSWER_BYTES = 8_388_608;

/** An answer of a provider, by the digest of its question. */
export const AnswerDocument = z.object({
  answerId: z.string(),
  answer: json(z.looseObject({})),
  createdAt: z.int().nonnegative(),
});
export type AnswerDocument = z.infer<typeof AnswerDocument>;

export const answerCollection = collection({
  name: 'answers',
  schema: AnswerDocument,
  key: 'answerId',
  maxBytes: ANSWER_BYTES,
  expires: { field: 'createdAt', afterMs: RETENTION_MS },
});
