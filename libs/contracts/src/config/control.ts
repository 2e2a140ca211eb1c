import { z } from 'zod';
import { texts } from './kinds.ts';

/** Operator settings for `config.*`. They can be set in a file or the environment only, so that no client can widen its rights. */
export const config = z
  .strictObject({
    references: texts()
      .default(['*'])
      .describe(
        'variables that stored values may refer to as ${NAME}; * matches any text. A name that looks like a secret or an address ' +
          'must be listed in full',
      ),
    immutableOverrides: texts().describe('immutable paths that config.* may write; * matches one name'),
  })
  .prefault({})
  .describe('keys that config.* may write');
