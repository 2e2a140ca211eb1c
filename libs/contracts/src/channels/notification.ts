import { z } from 'zod';
import { defineMethods } from '../definition/define.ts';
import { ChannelType } from './channels.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** Whether it was put into the delivery queue, or why not. */
export const NotificationResult = z.object({
  success: z.boolean(),
  entryId: boundedString(MAX.id).optional().describe('id in the delivery queue'),
  error: boundedString(MAX.line).optional().describe('quiet_hours, rate_limited, duplicate, no_channel, …'),
});

export const notificationMethods = defineMethods({
  'notification.send': {
    summary: 'Notifies the user on a channel.',
    description:
      'Without a channel the agent’s primary channel is used, else the last used one. Quiet hours suppress all but critical notifications. The result contains the reason of a rejection.',
    scope: 'rpc',
    params: z.strictObject({
      message: z.string().min(1).max(MAX.text),
      priority: z.enum(['low', 'normal', 'high', 'critical']).default('normal'),
      channel_type: ChannelType.optional(),
      channel_id: z.string().min(1).max(256).optional(),
    }),
    result: NotificationResult,
    emits: ['message:sent'],
    examples: [
      {
        params: { message: 'The nightly report is ready.', priority: 'high' },
        result: { success: true, entryId: 'dlv_4fT0mUq2Zs8KxY1bNcVdGh' },
      },
      { params: { message: 'The nightly report is ready.' }, result: { success: false, error: 'quiet_hours' } },
    ],
  },
});
