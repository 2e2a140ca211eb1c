import { z } from 'zod';
import { collection } from '@switchyard/store';
import { instant } from './schema-fields.ts';
import { Root } from './session-document.ts';

/** A summary of part of a conversation, never changed. Nobody sees one that no root leads to. */
export const SummaryDocument = Root.extend({
  epoch: z.string(),
  sessionKey: z.string(),
  /** The summaries that it stands for; none where it stands for turns. */
  children: z.array(z.string()),
  text: z.string(),
  /** Some of it may come from outside of the conversation. */
  taint: z.boolean(),
  /** Since when it is to be remembered; absent where it is not to be, or the memory service has it (`context/compaction/summary-distillation.ts`). */
  undistilled: instant.optional(),
  createdAt: instant,
  forgetAt: instant.optional(),
});

export type SummaryDocument = z.infer<typeof SummaryDocument>;

export const summaryCollection = collection({
  name: 'summaries',
  schema: SummaryDocument,
  key: 'id',
  indexes: [{ fields: ['epoch'] }, { fields: ['undistilled'], across: true, sparse: true }],
  expires: { field: 'forgetAt', afterMs: 0 },
});
