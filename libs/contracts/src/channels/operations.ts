import { z } from 'zod';
import { BlobRef } from '../values/blob-ref.ts';
import { AgentId, IdempotencyKey } from '../values/common.ts';
import { defineOperations } from '../definition/define.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { ChannelType } from './channels.ts';

const INBOUND_DEADLINE_MS = 10_000;

const Headers = z.record(boundedString(MAX.name), boundedString(MAX.value)).check(maxKeys(MAX.few));

/** The chat that a delivery goes to. */
export const DeliveryTarget = z.strictObject({
  channelType: ChannelType,
  channelId: boundedString(MAX.name).describe('chat of the platform'),
  threadId: boundedString(MAX.name).optional(),
  replyTo: boundedString(MAX.name).optional().describe('message that is answered'),
});
export type DeliveryTarget = z.infer<typeof DeliveryTarget>;

/** What other services ask of channels. */
export const channelsOperations = defineOperations({
  'deliver.send': {
    summary: 'Queues a message for a chat. The same key queues it once.',
    callers: ['scheduler', 'graph', 'sessions', 'tools'],
    params: z.strictObject({
      agentId: AgentId.describe('agent that speaks'),
      target: DeliveryTarget.optional().describe('default: the primary channel of the agent, else the last one used'),
      text: z.string().max(MAX.text),
      attachments: z.array(BlobRef).max(MAX.few).default([]),
      priority: z.enum(['low', 'normal', 'high', 'critical']).default('normal'),
      idempotencyKey: IdempotencyKey,
    }),
    result: z.object({
      entryId: boundedString(MAX.id).optional().describe('id in the delivery queue'),
      suppressed: boundedString(MAX.line).optional().describe('quiet_hours, rate_limited, duplicate, no_channel, …'),
    }),
    blobs: ['text', 'attachments'],
    emits: ['message:sent'],
    idempotent: true,
  },
  'channels.inbound': {
    summary: 'Receives the HTTP request of a platform and returns the response to it.',
    callers: ['gateway'],
    params: z.strictObject({
      channelType: ChannelType,
      method: z.enum(['GET', 'POST']),
      path: boundedString(MAX.path).describe('below the route of the channel'),
      query: Headers,
      headers: Headers,
      body: boundedString(MAX.payload).describe('unchanged, because platforms sign it'),
    }),
    result: z.object({
      status: z.int().min(200).max(599),
      headers: Headers,
      body: boundedString(MAX.text),
    }),
    blobs: ['body', 'headers', 'query'],
    deadlineMs: INBOUND_DEADLINE_MS,
  },
});
