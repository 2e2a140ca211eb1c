import type { Settings } from '@switchyard/service-kit';
import type { Entries } from '../entries/remember.ts';

/** What every handler works with. */
export interface Given extends Entries {
  settings: Settings<'routing' | 'embedding'>;
}
