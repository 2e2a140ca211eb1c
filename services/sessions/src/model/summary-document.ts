import { z } from 'zod';
import { collection } from '@switchyard/store';
import { instant } from './schema-fields.ts';
import { Root } from './session-document.ts';

/** Summary of a part of a conversation. Immutable. Only summaries that are reachable from a root are used. */
export const SummaryDocument = Root.extend({
  epoch: z.string(),
  sessionKey: z.string(),
  /** Absent on summaries of earlier versions. */
  agentId: z.string().optional(),
  /** Ids of the summaries that it covers; empty when it covers turns. */
  children: z.array(z.string()),
  text: z.string(),
  /** Part of the text may come from outside the conversation. */
  taint: z.boolean(),
  /** It covers a tainted turn. Turns whose prompt contains the summary are tainted too. */
  outside: z.literal(true).optional(),
  /**
   * Time since which the memory service has to be notified; absent when there is nothing to send
   * (`context/compaction/summary-distillation.ts`).
   */
  undistilled: instant.optional(),
  createdAt: instant,
  forgetAt: instant.optional(),
});

export type SummaryDocument = z.infer<typeof SummaryDocument>;

export const summaryCollection = collection({
  name: 'summaries',
  schema: SummaryDocument,
  key: 'id',
  indexes: [
    { fields: ['epoch'] },
    { fields: ['depth'] },
    { fields: ['agentId', 'depth'], sparse: true },
    { fields: ['undistilled'], across: true, sparse: true },
  ],
  expires: { field: 'forgetAt', afterMs: 0 },
});
