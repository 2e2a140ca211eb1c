import { z } from 'zod';
import { NoParams, Timestamp } from '../common.ts';
import { defineMethods } from '../define.ts';

export const systemMethods = defineMethods({
  'system.ping': {
    summary: 'Answers at once: the edge lives and the token is good.',
    scope: 'rpc',
    params: NoParams,
    result: z.object({ pong: z.literal(true), ts: Timestamp }),
    idempotent: true,
    tool: false,
    examples: [{ params: {}, result: { pong: true, ts: 1763719200000 } }],
  },
});
