import type { Readers } from './find-unread.ts';

/** What the compiler cannot tell about the reading of settings. */
export const READERS: Readers = {
  ignored: [
    'services/registry/src/agents/check-patch.ts', // looks at what is written before it is stored, and puts nothing in force
  ],
  readWhole: [
    'providers.entries.*.models.*.cost', // libs/models copies it over the published prices, key by key
  ],
};
