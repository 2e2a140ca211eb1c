import { z } from 'zod';
import { defineOperations } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

export const browserOperations = defineOperations({
  'browser.use': {
    summary: 'Runs a method on the replica whose browser it is.',
    callers: ['browser'],
    params: z.strictObject({
      method: boundedString(MAX.name),
      params: boundedString(MAX.text).describe('the params of the method, as JSON'),
    }),
    result: z.object({ result: boundedString(2 * MAX.payload).describe('the result of the method, as JSON') }),
    deadlineMs: 70_000,
    blobs: ['params', 'result'],
  },
});
