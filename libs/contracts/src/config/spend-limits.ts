import { z } from 'zod';

const money = z.number().positive().max(1_000_000_000).optional();
/** What a token may use of models in an hour and a day of UTC, whichever agents answer. */
export const SpendLimits = z
  .strictObject({ perHour: z.int().positive().optional(), perDay: z.int().positive().optional(), perHourUsd: money, perDayUsd: money })
  .describe('tokens, and US dollars by list price, per UTC hour and day');
