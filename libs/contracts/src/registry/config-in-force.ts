import { z } from 'zod';
import { Count } from '../common.ts';
import { MAX, upTo } from '../sizes.ts';

/** Which version every replica is to run, and those that do not. */
export const ConfigInForce = z.object({
  sha: upTo(MAX.name).describe('the version that is told to everybody'),
  revision: Count.describe('under which it is told; a replica reports the one it runs'),
  replicas: Count.describe('how many report'),
  lagging: z
    .array(
      z.object({
        replica: upTo(MAX.name).describe('service.replica'),
        revision: Count.optional().describe('that it runs'),
        refused: upTo(MAX.line).optional().describe('why it does not take this one'),
      }),
    )
    .max(MAX.many),
});
