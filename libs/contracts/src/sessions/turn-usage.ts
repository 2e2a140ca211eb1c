import { z } from 'zod';
import { Count, Usd } from '../values/common.ts';

/** Usage of models by one turn, over all its attempts. */
export const TurnUsage = z.object({
  calls: Count.describe('model calls that were made'),
  unknownCalls: Count.describe('calls among them whose provider reported no usage; they are not in the sums'),
  input: Count.describe('tokens, including cached ones'),
  output: Count,
  cacheRead: Count,
  cacheWrite: Count,
  costUsd: Usd,
});
export type TurnUsage = z.infer<typeof TurnUsage>;
