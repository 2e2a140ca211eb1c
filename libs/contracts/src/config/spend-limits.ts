import { z } from 'zod';

const money = z.number().positive().max(1_000_000_000).optional();
/** Model usage limits of a token per hour and day (UTC), over all agents. */
export const SpendLimits = z
  .strictObject({ perHour: z.int().positive().optional(), perDay: z.int().positive().optional(), perHourUsd: money, perDayUsd: money })
  .describe('tokens, and US dollars by list price, per UTC hour and day');
