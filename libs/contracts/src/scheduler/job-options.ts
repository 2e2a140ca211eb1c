import { z } from 'zod';
import { ChannelType } from '../channels/channels.ts';
import { DurationMs } from '../values/common.ts';
import { MAX } from '../values/sizes.ts';

const HOUR_MS = 3_600_000;

/** What happens at a fire while an earlier run of the job has not ended. */
export const OverlapPolicy = z.enum(['skip', 'queue', 'cancel', 'allow']);
export type OverlapPolicy = z.infer<typeof OverlapPolicy>;

/** What happens to a fire that no replica noticed in time. */
export const MissedRuns = z.strictObject({
  policy: z.enum(['once', 'skip']).default('once').describe('once: the last missed fire runs; skip: none does'),
  withinMs: DurationMs.default(HOUR_MS).describe('with once: a fire that is older is skipped'),
});
export type MissedRuns = z.infer<typeof MissedRuns>;

/** Which earlier runs the model reads. */
export const SessionStrategy = z.enum(['fresh', 'rolling', 'accumulate']);
export type SessionStrategy = z.infer<typeof SessionStrategy>;

const TimeOfDay = z
  .string()
  .max('22:00'.length)
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'a time of day such as 22:00' });

/** Days of the week, in the order of `Date.getUTCDay`. */
export const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
const MAX_EXCLUSIONS = 20;

/** A time of the day in which a job does not run. */
export const ExclusionWindow = z
  .strictObject({
    start: TimeOfDay.describe('inclusive'),
    end: TimeOfDay.describe('exclusive; before start: on the next day'),
    days: z.array(z.enum(WEEKDAYS)).min(1).max(WEEKDAYS.length).optional().describe('days on which the window begins; default: all'),
  })
  .refine(({ start, end }) => start !== end, { error: 'an end that differs from start', path: ['end'] });
export type ExclusionWindow = z.infer<typeof ExclusionWindow>;

/** The chat that receives the result of each run. */
export const JobDelivery = z.strictObject({
  channelType: ChannelType,
  channelId: z.string().min(1).max(MAX.name).describe('chat of the platform'),
  userId: z.string().min(1).max(MAX.name).optional(),
});
export type JobDelivery = z.infer<typeof JobDelivery>;

/** Limits of one run below those of its agent. */
export const RunBudget = z.strictObject({ tokens: z.int().positive().optional(), costUsd: z.number().positive().optional() });
export type RunBudget = z.infer<typeof RunBudget>;

/** Optional parameters of `cron.add` and `cron.update`. */
export const JobOptions = z.object({
  model: z.string().min(1).max(MAX.name).optional().describe('provider/model or model id that overrides the agent’s'),
  timeoutSeconds: z.int().positive().optional().describe('maximum duration of a run, below the general limit'),
  sessionStrategy: SessionStrategy.optional().describe(
    'fresh: each run has a session of its own; rolling: the model reads the last three runs; accumulate: all that fit. Default: fresh',
  ),
  overlap: OverlapPolicy.optional().describe(
    'a fire during a run: skip it, queue it (at most ten), cancel the run, or allow both. Default: skip',
  ),
  missedRuns: MissedRuns.optional().describe('fires that passed while no scheduler ran. Default: once, within an hour'),
  jitterMs: z
    .int()
    .nonnegative()
    .max(HOUR_MS)
    .optional()
    .describe('each fire is delayed by up to this time, the same on all replicas. Default: 0'),
  exclude: z
    .array(ExclusionWindow)
    .max(MAX_EXCLUSIONS)
    .optional()
    .describe('times in which a fire is skipped, in the time zone of the schedule, UTC without one'),
  deliverTo: JobDelivery.optional().describe('the text of each successful run is sent there'),
  budget: RunBudget.optional().describe('a run that exceeds it is stopped'),
  enabled: z.boolean().optional().describe('false pauses the job'),
  pausedReason: z.string().min(1).max(MAX.line).optional().describe('with enabled false: shown until the job is resumed'),
});
