import { z } from 'zod';
import { Count, Usd } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** Usage of models by one turn, over all its attempts. */
export const TurnUsage = z.object({
  calls: Count.describe('model calls that were made'),
  unknownCalls: Count.describe('calls among them whose provider reported no usage; they are not in the sums'),
  input: Count.describe('tokens, including cached ones'),
  output: Count,
  cacheRead: Count,
  cacheWrite: Count,
  costUsd: Usd,
  models: z
    .array(
      z.object({
        model: boundedString(MAX.name).describe('provider/model that was called'),
        calls: Count,
        unknownCalls: Count,
        input: Count,
        output: Count,
        cacheRead: Count,
        cacheWrite: Count,
        costUsd: Usd,
      }),
    )
    .max(MAX.few)
    .optional()
    .describe('the same by model; calls whose model is unknown are in the sums only'),
});
export type ModelTurnUsage = NonNullable<z.infer<typeof TurnUsage>['models']>[number];
export type TurnUsage = z.infer<typeof TurnUsage>;
