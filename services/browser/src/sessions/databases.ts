import type { BrowserContext, Page } from 'playwright-core';
import { z } from 'zod';
import { withDeadline } from './deadline.ts';

const READ_TIMEOUT_MS = 3_000;
/** Time between two readings of databases that have content, so that a session is not slower after each call. */
const MIN_INTERVAL_MS = 2_000;
/** Bytes on disk of the databases of all origins. Larger ones are not read. */
const MAX_DATABASE_BYTES = 4_194_304;
/** Characters of the databases as JSON. */
const MAX_DATABASE_CHARS = 2_097_152;
/** The driver loads each visited origin to read its databases. */
const MAX_ORIGINS = 20;

/** The databases (IndexedDB) of one origin, in the form of the driver. */
export const OriginDatabases = z.object({ origin: z.string(), databases: z.array(z.unknown()) });
export type OriginDatabases = z.infer<typeof OriginDatabases>;

export interface DatabaseReader {
  /** Follows the origins that a page visits. */
  follow(page: Page): void;
  /**
   * Reads the databases of all visited origins. The result is the previous one if they are too large, if they cannot be read, or after a
   * reading that ended only just now. To be called while no call runs, and none may begin until `wait` resolves: the driver would take a
   * tab that opens meanwhile for one of its own.
   */
  read(): Promise<DatabaseState>;
  getLast(): DatabaseState;
  /** Waits until the driver has closed its own pages. */
  wait(): Promise<void>;
}

export interface DatabaseState {
  databases: OriginDatabases[];
  isCurrent: boolean;
}

export interface DatabaseReaderOptions {
  context: BrowserContext;
  /** Origins that the driver visits because the context was opened with their storage. */
  restoredOrigins: readonly string[];
  restored: OriginDatabases[];
}

export function createDatabaseReader({ context, restoredOrigins, restored }: DatabaseReaderOptions): DatabaseReader {
  const visited = new Set(restoredOrigins);
  let last: DatabaseState = { databases: restored, isCurrent: true };
  let collectedAt = -Infinity;
  let isReading = false;
  let latest: Promise<unknown> = Promise.resolve();

  function add(url: string): void {
    if (/^https?:/.test(url) && visited.size <= MAX_ORIGINS) visited.add(new URL(url).origin);
  }

  /** Returns the bytes as Chromium counts them, because scripts of a page could say anything. */
  async function measure(page: Page): Promise<number> {
    const session = await context.newCDPSession(page);
    try {
      let bytes = 0;
      for (const origin of visited) {
        const { usageBreakdown } = await session.send('Storage.getUsageAndQuota', { origin });
        bytes += usageBreakdown.find(({ storageType }) => storageType === 'indexeddb')?.usage ?? 0;
      }
      return bytes;
    } finally {
      await session.detach().catch(() => undefined);
    }
  }

  async function collect(): Promise<OriginDatabases[]> {
    const { origins } = await context.storageState({ indexedDB: true });
    return origins.flatMap((state) => {
      const { origin, indexedDB = [] } = state as typeof state & { indexedDB?: unknown[] };
      return indexedDB.length > 0 ? [{ origin, databases: indexedDB }] : [];
    });
  }

  /** Undefined if the databases are too large, or are not read in time. */
  function start(page: Page): Promise<OriginDatabases[] | undefined> {
    const read = async (): Promise<OriginDatabases[] | undefined> => {
      const bytes = await measure(page);
      if (bytes === 0) return [];
      if (bytes > MAX_DATABASE_BYTES) return undefined;
      return collect().finally(() => (collectedAt = performance.now()));
    };
    // A page that does not answer delays the driver until it is closed. Calls do not wait that long.
    isReading = true;
    const reading = read().finally(() => (isReading = false));
    const found = withDeadline(reading, READ_TIMEOUT_MS).catch(() => undefined);
    latest = found;
    return found;
  }

  return {
    follow(page) {
      add(page.url());
      page.on('framenavigated', (frame) => add(frame.url()));
    },
    async read() {
      const page = context.pages().find((open) => !open.isClosed());
      if (!page || performance.now() - collectedAt < MIN_INTERVAL_MS) return last;
      const found = visited.size <= MAX_ORIGINS && !isReading ? await start(page) : undefined;
      const isCurrent = found !== undefined && JSON.stringify(found).length <= MAX_DATABASE_CHARS;
      return (last = { databases: isCurrent && found ? found : last.databases, isCurrent });
    },
    getLast: () => last,
    async wait() {
      await latest;
    },
  };
}
