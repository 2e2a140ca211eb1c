import { z } from 'zod';
import { Count } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** Which version every replica is to run, and those that do not. */
export const ConfigInForce = z.object({
  sha: boundedString(MAX.name).describe('published version'),
  revision: Count.describe('revision of the published version; each replica reports the revision it runs'),
  replicas: Count.describe('number of reporting replicas'),
  lagging: z
    .array(
      z.object({
        replica: boundedString(MAX.name).describe('service.replica'),
        revision: Count.optional().describe('revision that the replica runs'),
        refused: boundedString(MAX.line).optional().describe('reason why the replica rejects the version'),
      }),
    )
    .max(MAX.many),
});
