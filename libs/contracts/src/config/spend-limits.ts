import { z } from 'zod';
import { Tokens } from './kinds.ts';

const money = z.number().positive().max(1_000_000_000).optional();
/** Model usage limits of a token per hour and day (UTC), over all agents. */
export const SpendLimits = z
  .strictObject({ perHour: Tokens.optional(), perDay: Tokens.optional(), perHourUsd: money, perDayUsd: money })
  .describe('tokens, and US dollars by list price, per UTC hour and day');
