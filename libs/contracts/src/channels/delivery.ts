import { z } from 'zod';
import { Count } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { ChannelType } from './channels.ts';

/** How many deliveries are in each state. */
export const DeliveryCounts = z.object({ pending: Count, inFlight: Count, failed: Count, delivered: Count, expired: Count });

export const deliveryMethods = defineMethods({
  'delivery.queue.status': {
    summary: 'Counts deliveries by state, for all channels or one.',
    scope: 'rpc',
    params: z.strictObject({ channel_type: ChannelType.optional() }),
    result: DeliveryCounts,
    idempotent: true,
    examples: [{ params: { channel_type: 'telegram' }, result: { pending: 1, inFlight: 0, failed: 0, delivered: 128, expired: 0 } }],
  },
});
