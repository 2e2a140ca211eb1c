import { z } from 'zod';
import { texts } from './kinds.ts';

/** What an operator allows `config.*` beyond its rules. Written in a file or the environment only, so that no client can widen it. */
export const config = z
  .strictObject({
    references: texts()
      .default(['*'])
      .describe(
        'variables that stored values may name as ${NAME}; * stands for any text. One whose name is like that of a secret or an address ' +
          'has to stand here whole',
      ),
    immutableOverrides: texts().describe('paths that config.* may write although they are immutable; * stands for one name'),
  })
  .prefault({})
  .describe('what config.* may write');
