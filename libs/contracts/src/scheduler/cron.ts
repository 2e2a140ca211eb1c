import { z } from 'zod';
import { AgentId, CallerId, Count, DurationMs, pageSize, Timestamp, Usd, ActingAgentId } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { closest } from '../definition/spelling-suggestion.ts';
import { JobOptions } from './job-options.ts';

export const JobName = CallerId.describe('unique per agent; 1 to 128 letters, digits and . _ : @ -');

/** The zone a schedule is told in, as the runtime knows it. */
export const TimeZone = z
  .string()
  .min(1)
  .max(64)
  .refine(isTimeZone, { error: ({ input }) => describeTimeZone(String(input)) })
  .describe('IANA name; default: scheduler.cron.defaultTimezone');

/** The schedule is one flat object, so fields of other kinds may be present. */
const unused = z.unknown().optional().describe('ignored for this kind');

const CronKind = z
  .strictObject({
    kind: z.literal('cron'),
    expr: z.string().min(1).max(256).describe('five fields, or six with seconds first'),
    tz: TimeZone.optional(),
    everyMs: unused,
    at: unused,
  })
  .transform(({ everyMs: _everyMs, at: _at, ...schedule }) => schedule);

const IntervalKind = z
  .strictObject({
    kind: z.literal('interval'),
    everyMs: z.int().positive().describe('at least 1000; counted from the creation of the job'),
    expr: unused,
    tz: unused,
    at: unused,
  })
  .transform(({ expr: _expr, tz: _tz, at: _at, ...schedule }) => schedule);

const MOMENT_FORMS = [z.iso.datetime({ offset: true, local: true }), z.iso.datetime({ offset: true, precision: -1 })];

/** With or without seconds, with or without an offset. */
const Moment = z
  .string()
  .max(64)
  .refine((text) => MOMENT_FORMS.some((form) => form.safeParse(text).success), 'a date and time of ISO 8601');

const OnceKind = z
  .strictObject({
    kind: z.literal('once'),
    at: z
      .union([Moment, Timestamp])
      .describe('a future time: ISO 8601, for example 2030-01-01T08:00 or 2030-01-01T08:00:30+01:00, or epoch milliseconds'),
    tz: TimeZone.optional().describe('time zone of `at` without an offset; default: UTC'),
    expr: unused,
    everyMs: unused,
  })
  .transform(({ expr: _expr, everyMs: _everyMs, ...schedule }) => schedule);

/** When a job fires. */
export const CronSchedule = z.discriminatedUnion('kind', [CronKind, IntervalKind, OnceKind]);
export type CronSchedule = z.infer<typeof CronSchedule>;

const kind = z.enum(['cron', 'interval', 'once']);
const nextRunAtMs = Timestamp.nullable().describe('null if it will not fire again');
const id = boundedString(MAX.id);

/** State of a job in `cron.status`. */
export const CronJobStatus = z.object({
  id,
  name: JobName,
  agentId: AgentId.optional(),
  scheduleKind: kind,
  nextRunAtMs,
  enabled: z.boolean(),
  lastRunAtMs: Timestamp.optional(),
  lastError: boundedString(MAX.line).optional(),
  consecutiveErrors: Count.optional(),
  pausedReason: boundedString(MAX.line).optional().describe('of a job that is not enabled'),
});

export const HOURS_PER_DAY = 24;

/** A job in the list. */
export const CronJob = CronJobStatus.extend({
  expr: boundedString(MAX.line).optional(),
  tz: boundedString(MAX.name).optional(),
  everyMs: z.int().positive().optional(),
  at: Timestamp.optional(),
  message: boundedString(MAX.text).optional(),
  createdAtMs: Timestamp.optional(),
  firesPerHour: z
    .array(Count)
    .length(HOURS_PER_DAY)
    .optional()
    .describe('with density: the fires from now on in each of 24 hours, without those in exclusion windows'),
});
export type CronJob = z.infer<typeof CronJob>;

export const CronJobList = z.object({
  jobs: z.array(CronJob).max(MAX.all),
  hoursFromMs: Timestamp.optional().describe('with density: begin of the first hour, the current hour of UTC'),
});

export const CronJobCreated = z.object({
  id,
  jobId: id.describe('same as id'),
  name: JobName,
  created: z.literal(true),
  scheduleKind: kind,
  nextRunAtMs,
  enabled: z.boolean(),
});

export const CronJobUpdated = z.object({
  id,
  name: JobName,
  jobName: JobName.describe('same as name'),
  updated: z.literal(true),
  nextRunAtMs,
});
export const CronJobRemoved = z.object({ name: JobName, jobName: JobName.describe('same as name'), removed: z.literal(true) });

/** One time a job ran, or was left out. */
export const CronRun = z.object({
  runAt: Timestamp.describe('when the run was due'),
  startedAtMs: Timestamp.optional(),
  durationMs: DurationMs,
  success: z.boolean(),
  error: boundedString(MAX.line).optional(),
  status: z.enum(['ok', 'error', 'skipped']).optional(),
  summary: boundedString(MAX.text).optional(),
  totalTokens: Count.optional(),
  costUsd: Usd.optional(),
  toolCalls: Count.optional(),
  llmCalls: Count.optional(),
  delivery: boundedString(MAX.line).optional().describe('of a job with deliverTo: delivered, or why not, for example not installed'),
  failedTools: z.array(boundedString(MAX.name)).max(MAX.many).optional(),
});
export type CronRun = z.infer<typeof CronRun>;

export const CronRunList = z.object({ runs: z.array(CronRun).max(MAX.all).describe('newest first') });
export const CronTriggered = z.object({ triggered: z.literal(true), mode: z.enum(['force', 'due']), jobName: JobName.optional() });

const Message = z.string().min(1).max(MAX.text).describe('message to the agent when the job fires');
const Whose = AgentId.optional().describe('required only if two agents have a job of this name');
const OneJob = z.strictObject({ name: JobName, agentId: Whose });

/** In mode `force` there must be a name: the mode is the default, so that leaving both out names what is missing. */
const Trigger = z
  .strictObject({
    name: JobName.optional().describe('required in mode force'),
    mode: z.enum(['force', 'due']).default('force'),
    agentId: Whose,
  })
  .check((run) => {
    if (run.value.mode === 'due' || run.value.name !== undefined) return;
    run.issues.push({ code: 'invalid_type', expected: 'string', path: ['name'], input: undefined });
  });

/** Either of a job or of a schedule. */
const NextParams = z
  .strictObject({
    name: JobName.optional().describe('a job'),
    agentId: Whose,
    schedule: CronSchedule.optional().describe('instead of a job'),
    count: z.int().min(1).max(50).default(5),
  })
  .check(({ value, issues }) => {
    if ((value.name === undefined) !== (value.schedule === undefined)) return;
    const message = 'either name or schedule';
    issues.push({ code: 'custom', message, path: ['schedule'], input: value.schedule });
  });

export const CronFires = z.object({
  fires: z.array(z.object({ atMs: Timestamp, at: boundedString(MAX.id).describe('ISO 8601 with the offset of the zone') })).max(50),
});

/** A job that fires emits them later as well. */
const JOB_EVENTS = ['scheduler:job_started', 'scheduler:job_completed', 'scheduler:job_suspended'] as const;

const jobExample = { id: 'job_4fT0mUq2Zs8KxY1bNcVdGh', name: 'nightly-report' };

export const cronMethods = defineMethods({
  'cron.list': {
    summary: 'Lists the jobs with their next run.',
    scope: 'rpc',
    effect: 'read',
    params: z.strictObject({
      agentId: AgentId.optional().describe('only the jobs of this agent'),
      density: z.boolean().default(false).describe('whether to count the fires of the next 24 hours, for the first 1000 jobs by name'),
    }),
    result: CronJobList,
    blobs: ['jobs'],
    idempotent: true,
    examples: [
      {
        params: {},
        result: {
          jobs: [
            {
              ...jobExample,
              agentId: 'default',
              scheduleKind: 'cron',
              expr: '0 22 * * *',
              tz: 'Europe/Oslo',
              nextRunAtMs: 1763758800000,
              enabled: true,
            },
          ],
        },
      },
    ],
  },
  'cron.add': {
    summary: 'Creates a job that sends an agent a message on a schedule.',
    description: 'Invalid expressions, past times and duplicate names per agent are rejected.',
    scope: 'rpc',
    effect: 'mutate',
    params: z.strictObject({
      name: JobName,
      message: Message,
      agentId: ActingAgentId.optional(),
      schedule: CronSchedule,
      ...JobOptions.shape,
    }),
    result: CronJobCreated,
    blobs: ['schedule', 'message'],
    errors: ['INVALID_ARGUMENT', 'ALREADY_EXISTS', 'RESOURCE_EXHAUSTED'],
    emits: JOB_EVENTS,
    examples: [
      {
        params: {
          name: jobExample.name,
          message: 'Write the report of the day.',
          schedule: { kind: 'cron', expr: '0 22 * * *', tz: 'Europe/Oslo' },
        },
        result: {
          ...jobExample,
          jobId: jobExample.id,
          created: true,
          scheduleKind: 'cron',
          nextRunAtMs: 1763758800000,
          enabled: true,
        },
      },
      {
        params: { name: 'tick', message: 'What time is it?', schedule: { kind: 'interval', everyMs: 10_000 } },
        result: {
          id: 'job_7pQ2rLw9Xc5VbN3mKjHgFd',
          jobId: 'job_7pQ2rLw9Xc5VbN3mKjHgFd',
          name: 'tick',
          created: true,
          scheduleKind: 'interval',
          nextRunAtMs: 1763719210000,
          enabled: true,
        },
      },
    ],
  },
  'cron.update': {
    summary: 'Updates a job; omitted fields keep their values.',
    description:
      'agentId selects among jobs of the same name; if the name is unique it moves the job to that agent. enabled resumes a job that was suspended after errors.',
    scope: 'rpc',
    effect: 'mutate',
    params: z.strictObject({
      name: JobName,
      message: Message.optional(),
      agentId: AgentId.optional(),
      schedule: CronSchedule.optional(),
      ...JobOptions.shape,
    }),
    result: CronJobUpdated,
    blobs: ['schedule', 'message'],
    idempotent: true,
    errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
    emits: JOB_EVENTS,
    examples: [
      {
        params: { name: jobExample.name, schedule: { kind: 'once', at: '2040-01-01T08:00:00+01:00' } },
        result: { ...jobExample, jobName: jobExample.name, updated: true, nextRunAtMs: 2208927600000 },
      },
    ],
  },
  'cron.remove': {
    summary: 'Deletes a job; a running one finishes.',
    scope: 'rpc',
    audited: 'destructive',
    params: OneJob,
    result: CronJobRemoved,
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT'],
    examples: [{ params: { name: jobExample.name }, result: { name: jobExample.name, jobName: jobExample.name, removed: true } }],
  },
  'cron.status': {
    summary: 'Returns the state of one job.',
    scope: 'rpc',
    effect: 'read',
    params: OneJob,
    result: CronJobStatus,
    idempotent: true,
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT'],
    examples: [
      {
        params: { name: jobExample.name },
        result: {
          ...jobExample,
          scheduleKind: 'cron',
          nextRunAtMs: 1763758800000,
          enabled: true,
          lastRunAtMs: 1763672400000,
          lastError: 'the model did not answer in time',
        },
      },
    ],
  },
  'cron.runs': {
    summary: 'Lists the runs of a job, newest first.',
    scope: 'rpc',
    effect: 'read',
    params: z.strictObject({ name: JobName, limit: pageSize(20, 1000), agentId: Whose }),
    result: CronRunList,
    blobs: ['runs'],
    idempotent: true,
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT'],
    examples: [
      {
        params: { name: jobExample.name, limit: 2 },
        result: {
          runs: [
            { runAt: 1763672400000, durationMs: 5200, success: true, status: 'ok', totalTokens: 1840 },
            { runAt: 1763586000000, durationMs: 180_000, success: false, error: 'the model did not answer in time', status: 'error' },
          ],
        },
      },
    ],
  },
  'cron.next': {
    summary: 'Returns the next fires of a job or of a schedule.',
    description: 'A time around a change of the clock has the offset that is in force at that time.',
    scope: 'rpc',
    beyond: true,
    params: NextParams,
    result: CronFires,
    blobs: ['schedule'],
    idempotent: true,
    reads: true,
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT'],
    examples: [
      {
        params: { schedule: { kind: 'cron', expr: '0 22 * * *', tz: 'Europe/Oslo' }, count: 2 },
        result: {
          fires: [
            { atMs: 1763758800000, at: '2025-11-21T22:00:00+01:00' },
            { atMs: 1763845200000, at: '2025-11-22T22:00:00+01:00' },
          ],
        },
      },
    ],
  },
  'cron.run': {
    summary: 'Runs a job now, or all overdue jobs.',
    description: 'Returns immediately; cron.runs contains the outcome.',
    scope: 'rpc',
    effect: 'mutate',
    params: Trigger,
    result: CronTriggered,
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT'],
    emits: JOB_EVENTS,
    examples: [
      { params: { name: jobExample.name }, result: { triggered: true, mode: 'force', jobName: jobExample.name } },
      { params: { mode: 'due' }, result: { triggered: true, mode: 'due' } },
    ],
  },
});

function describeTimeZone(name: string): string {
  const nearest = closest(name.toLowerCase(), [...listTimeZones().keys()]);
  return nearest === undefined ? 'a time zone such as Europe/Oslo or UTC' : `a time zone; did you mean ${listTimeZones().get(nearest)}?`;
}

let timeZones: ReadonlyMap<string, string> | undefined;

/** Time zones by their name in lower case. The list is built at the first unknown zone, because it is long. */
function listTimeZones(): ReadonlyMap<string, string> {
  return (timeZones ??= new Map(['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => [zone.toLowerCase(), zone])));
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
