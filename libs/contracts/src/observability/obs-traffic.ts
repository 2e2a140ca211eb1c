import { z } from 'zod';
import { Count, DurationMs, NoParams, pageSize } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import {
  ChannelActivity,
  channelActivityExample,
  DeliveryTrace,
  DiagnosticEvent,
  OBSERVATION_TABLES,
  RowsDeleted,
  SinceMs,
} from './records.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const ChannelId = z.string().min(1).max(256);
const note = boundedString(MAX.line).optional().describe('why figures are missing');

const obsChannelMethods = defineMethods({
  'obs.channels.all': {
    summary: 'Returns the activity of each channel.',
    scope: 'admin',
    params: NoParams,
    result: z.object({ channels: z.array(ChannelActivity).max(MAX.all), note }),
    idempotent: true,
    blobs: ['channels'],
    examples: [{ params: {}, result: { channels: [channelActivityExample] } }],
  },
  'obs.channels.stale': {
    summary: 'Returns channels that have been silent for too long.',
    scope: 'admin',
    params: z.strictObject({ thresholdMs: DurationMs.default(300_000) }),
    result: z.object({ stale: z.array(ChannelActivity).max(MAX.all), note }),
    idempotent: true,
    blobs: ['stale'],
    examples: [{ params: { thresholdMs: 600000 }, result: { stale: [channelActivityExample] } }],
  },
  'obs.channels.get': {
    summary: 'Returns the activity of one channel; null if unknown.',
    scope: 'admin',
    params: z.strictObject({ channelId: ChannelId }),
    result: z.object({ channel: ChannelActivity.nullable(), note }),
    idempotent: true,
    examples: [
      { params: { channelId: 'telegram-678' }, result: { channel: channelActivityExample } },
      { params: { channelId: 'nowhere' }, result: { channel: null } },
    ],
  },
});

const obsDeliveryMethods = defineMethods({
  'obs.delivery.recent': {
    summary: 'Returns the latest messages from receipt to answer, newest first.',
    scope: 'admin',
    params: z.strictObject({ sinceMs: SinceMs.optional(), limit: pageSize(50, 10_000), channelId: ChannelId.optional() }),
    result: z.object({ deliveries: z.array(DeliveryTrace).max(MAX.all), note }),
    idempotent: true,
    blobs: ['deliveries'],
    examples: [
      {
        params: { limit: 1 },
        result: {
          deliveries: [
            {
              sourceChannelId: 'telegram-678',
              sourceChannelType: 'telegram',
              targetChannelId: 'telegram-678',
              targetChannelType: 'telegram',
              deliveredAt: 1763719201200,
              latencyMs: 1200,
              success: true,
            },
          ],
        },
      },
    ],
  },
  'obs.delivery.stats': {
    summary: 'Returns success rate and latency of deliveries.',
    scope: 'admin',
    params: NoParams,
    result: z.object({ total: Count, successes: Count, failures: Count, avgLatencyMs: DurationMs, note }),
    idempotent: true,
    examples: [{ params: {}, result: { total: 44, successes: 43, failures: 1, avgLatencyMs: 1180 } }],
  },
  'obs.diagnostics': {
    summary: 'Returns the latest diagnostic events, newest first, with counts by category.',
    scope: 'admin',
    params: z.strictObject({
      category: z.string().min(1).max(64).optional(),
      limit: pageSize(50, 1000),
      sinceMs: SinceMs.optional(),
    }),
    result: z.object({
      events: z.array(DiagnosticEvent).max(MAX.all),
      counts: z.record(boundedString(MAX.name), Count).check(maxKeys(MAX.many)).describe('over all stored events, not the page'),
    }),
    idempotent: true,
    blobs: ['events', 'counts'],
    examples: [
      {
        params: { category: 'message', limit: 1 },
        result: {
          events: [
            {
              id: 'diag_1',
              category: 'message',
              eventType: 'message_processed',
              timestamp: 1763719201200,
              agentId: 'default',
              data: { durationMs: 1200 },
            },
          ],
          counts: { message: 44, usage: 240 },
        },
      },
    ],
  },
});

const obsResetMethods = defineMethods({
  'obs.reset': {
    summary: 'Deletes all observations, stored and in memory.',
    scope: 'admin',
    audited: 'destructive',
    params: NoParams,
    result: z.object({ reset: z.literal(true), rowsDeleted: RowsDeleted }),
    emits: ['observability:reset', 'audit:event'],
    examples: [{ params: {}, result: { reset: true, rowsDeleted: { tokenUsage: 120, delivery: 44, diagnostics: 12, channels: 3 } } }],
  },
  'obs.reset.table': {
    summary: 'Deletes one table of observations.',
    scope: 'admin',
    audited: 'destructive',
    params: z.strictObject({ table: z.enum(OBSERVATION_TABLES) }),
    result: z.object({ reset: z.literal(true), table: boundedString(MAX.name), rowsDeleted: Count }),
    emits: ['observability:reset', 'audit:event'],
    examples: [{ params: { table: 'delivery' }, result: { reset: true, table: 'delivery', rowsDeleted: 44 } }],
  },
});

export const obsTrafficMethods = defineMethods({ ...obsChannelMethods, ...obsDeliveryMethods, ...obsResetMethods });
