import { z } from 'zod';
import { JsonObject, pageSize, SessionKey } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { IncidentReport, incidentExample } from './explain.ts';
import { FleetHealthReport, fleetExample } from './fleet.ts';
import { obsBillingMethods } from './obs-billing.ts';
import { obsContextMethods } from './obs-context.ts';
import { obsReplayMethods } from './obs-replay.ts';
import { obsTrafficMethods } from './obs-traffic.ts';
import { MAX } from '../values/sizes.ts';

const Id = z.string().min(1).max(256);

const obsReportMethods = defineMethods({
  'obs.trace.search': {
    summary: 'Searches the records of turns of the last two days, or since a time, newest first.',
    scope: 'admin',
    params: z.strictObject({
      messageId: Id.optional(),
      traceId: Id.optional(),
      chatId: Id.optional(),
      since: z
        .string()
        .max(10)
        .regex(/^\d{1,9}[smhd]$/)
        .optional()
        .describe('period: digits and s, m, h or d'),
      where: z
        .string()
        .max(1024)
        .optional()
        .describe('error for rows with a last error, or conditions such as agent=a, model=m, cost>0.1; all must match'),
      limit: pageSize(200, 1000),
      includeSynthetic: z.boolean().default(false).describe('include test and benchmark sessions'),
    }),
    result: z.object({ rows: z.array(JsonObject).max(MAX.all) }),
    idempotent: true,
    blobs: ['rows'],
    examples: [
      {
        params: { since: '2h', where: 'error', limit: 1 },
        result: {
          rows: [
            { event: 'turn_completed', ts: '2025-11-21T10:00:00.000Z', traceId: '4bf92f3577b34da6a3ce929d0e0e4736', durationMs: 1200 },
          ],
        },
      },
    ],
  },
  'obs.explain': {
    summary: 'Explains the failure of a session from logged evidence.',
    description:
      'Explains the newest turn of the session that ended badly, or the newest turn if none did. A trace id is the id of a turn; it is resolved to its session. Requires sessionKey or traceId. summary limits the report to about 6 KB; full relaxes the list limits.',
    scope: 'admin',
    params: z
      .strictObject({
        sessionKey: SessionKey.optional(),
        traceId: Id.optional(),
        depth: z.enum(['summary', 'full']).default('summary'),
        includeSynthetic: z.boolean().default(false),
      })
      .refine(({ sessionKey, traceId }) => sessionKey !== undefined || traceId !== undefined, {
        error: 'sessionKey or traceId',
        params: { received: 'neither' },
      }),
    result: IncidentReport,
    idempotent: true,
    blobs: [
      'failures',
      'offloads',
      'coverage',
      'breakerTimeline',
      'truncations',
      'waterfall',
      'likelyRootCause',
      'suggestedNextSteps',
      'summary',
      'toolStats',
    ],
    examples: [{ params: { sessionKey: 'default:alice:gateway' }, result: incidentExample }],
  },
  'obs.fleet.health': {
    summary: 'Reports the outcome of all sessions of the last hours from logged evidence.',
    scope: 'admin',
    params: z.strictObject({ sinceHours: z.number().positive().default(24) }),
    result: FleetHealthReport,
    idempotent: true,
    blobs: [
      'findings',
      'activity',
      'truncations',
      'likelyRootCause',
      'suggestedNextSteps',
      'toolStats',
      'topErrorKinds',
      'degradedByCause',
    ],
    examples: [{ params: { sinceHours: 24 }, result: fleetExample }],
  },
});

export const obsMethods = defineMethods({
  ...obsBillingMethods,
  ...obsTrafficMethods,
  ...obsContextMethods,
  ...obsReplayMethods,
  ...obsReportMethods,
});
