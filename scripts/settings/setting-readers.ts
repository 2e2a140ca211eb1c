import type { Readers } from './find-unread.ts';

/** Facts about reads of settings that the compiler cannot see. */
export const READERS: Readers = {
  ignored: [
    'services/registry/src/agents/check-patch.ts', // validates values before they are stored, and applies none
  ],
  readWhole: [
    'providers.entries.*.models.*.cost', // libs/models copies it key by key over the published prices
  ],
};
