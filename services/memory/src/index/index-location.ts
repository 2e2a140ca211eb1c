import { join } from 'node:path';
import type { Settings } from '@switchyard/service-kit';
import type { IndexPlace } from './memory-index.ts';

/** Default of `memory.dbPath`; it selects the default directory. */
const USUAL = 'memory.db';

/** Resolves the index directory below `dir`. Returns the same object until the settings change. */
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
