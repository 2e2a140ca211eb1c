import { z } from 'zod';
import { NoParams, Timestamp } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';

export const systemMethods = defineMethods({
  'system.ping': {
    summary: 'Returns immediately if the gateway is running and the token is valid.',
    scope: 'rpc',
    params: NoParams,
    result: z.object({ pong: z.literal(true), ts: Timestamp }),
    idempotent: true,
    tool: false,
    examples: [{ params: {}, result: { pong: true, ts: 1763719200000 } }],
  },
});
