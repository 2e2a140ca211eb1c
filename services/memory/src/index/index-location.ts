import { join } from 'node:path';
import type { Settings } from '@switchyard/service-kit';
import type { IndexPlace } from './memory-index.ts';

/** The name that says nothing in particular: that of the setting as it is shipped. */
const USUAL = 'memory.db';

/** Where the settings want the index, below `dir`; one object for as long as they want the same. */
export function createPlace(dir: string, settings: Settings<'memory'>): () => IndexPlace {
  let from: unknown;
  let place: IndexPlace | undefined;
  return () => {
    const { memory } = settings.current;
    if (place && from === memory) return place;
    from = memory;
    const { dbPath, walMode: wal } = memory;
    return (place = { dir: join(dir, dbPath === USUAL ? 'memory' : dbPath), wal });
  };
}
