import { z } from 'zod';

/** The question of an approval gate, and the chat that is asked. */
export const StepQuestion = z.object({
  message: z.string(),
  timeoutMs: z.int().positive(),
  channelType: z.string(),
  channelId: z.string(),
  agentId: z.string().optional(),
});
export type StepQuestion = z.infer<typeof StepQuestion>;
