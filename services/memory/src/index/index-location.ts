import { join } from 'node:path';
import type { Settings } from '@switchyard/service-kit';
import type { IndexLocation } from './memory-index.ts';

/** Default of `memory.dbPath`; it selects the default directory. */
const DEFAULT_DB_PATH = 'memory.db';

/** Resolves the index directory below `dir`. Returns the same object until the settings change. */
export function createIndexLocation(dir: string, settings: Settings<'memory'>): () => IndexLocation {
  let resolvedFor: unknown;
  let location: IndexLocation | undefined;
  return () => {
    const { memory } = settings.current;
    if (location && resolvedFor === memory) return location;
    resolvedFor = memory;
    const { dbPath, walMode: wal } = memory;
    return (location = { dir: join(dir, dbPath === DEFAULT_DB_PATH ? 'memory' : dbPath), wal });
  };
}
