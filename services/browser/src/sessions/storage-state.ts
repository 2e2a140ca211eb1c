import type { BrowserContext, BrowserContextOptions, Cookie, Page } from 'playwright-core';
import { z } from 'zod';
import { createDatabaseReader, OriginDatabases } from './databases.ts';
import { withDeadline } from './deadline.ts';
import { readPageStorage, StorageEntries, type PageStorage } from './page-storage.ts';
import type { Tab } from './tab.ts';

const COOKIES_TIMEOUT_MS = 2_000;
const MAX_COOKIE_CHARS = 1_048_576;
/** Characters of the storage of all origins and tabs of a session. The origin that was read longest ago is dropped first. */
const MAX_STORAGE_CHARS = 2_097_152;
const MAX_ORIGINS = 50;

/** Cookies and storage of a session, from which another replica opens it again. */
export const StorageState = z.object({
  cookies: z.array(z.looseObject({ name: z.string(), value: z.string(), domain: z.string() })),
  origins: z.array(z.object({ origin: z.string(), entries: StorageEntries })),
  databases: z.array(OriginDatabases).default([]),
  /** The session storage of the tabs. */
  tabs: z.array(z.object({ id: z.string(), origin: z.string(), entries: StorageEntries })),
  /** Kinds of state that this object lacks, because they are too large or cannot be read. */
  lost: z.array(z.string()),
});
export type StorageState = z.infer<typeof StorageState>;

export interface StorageTracker {
  /** Follows the origins that a page visits. */
  follow(page: Page): void;
  /**
   * Reads cookies and the storage of the open pages. Pages that do not answer keep what was read earlier, and so do the databases while a
   * call runs.
   */
  read(tabs: readonly Tab[], options: { isIdle: boolean }): Promise<StorageState>;
  /** Waits until the driver has closed pages of its own. */
  waitForDatabases(): Promise<void>;
  findSessionStorage(tabId: string): { origin: string; entries: StorageEntries } | undefined;
}

/** Tracks the storage of one session. It remembers the origins that no open page shows any more. */
export function createStorageTracker(context: BrowserContext, restored: StorageState | undefined): StorageTracker {
  const origins = new Map(restored?.origins.map(({ origin, entries }) => [origin, entries]));
  const sessionStorages = new Map(restored?.tabs.map(({ id, origin, entries }) => [id, { origin, entries }]));
  const lost = new Set(restored?.lost.filter((kind) => kind !== 'indexedDB'));
  const databases = createDatabaseReader({
    context,
    restoredOrigins: restored ? toContextOrigins(restored).map(({ origin }) => origin) : [],
    restored: restored?.databases ?? [],
  });
  /** Pages whose answer to an earlier question is awaited. */
  const pending = new Set<string>();

  function keep(id: string, { origin, localStorage, sessionStorage }: PageStorage): void {
    origins.delete(origin);
    if (localStorage === null || sessionStorage === null) lost.add('storage');
    if (localStorage !== null && localStorage.length > 0) origins.set(origin, localStorage);
    sessionStorages.delete(id);
    if (sessionStorage !== null && sessionStorage.length > 0) sessionStorages.set(id, { origin, entries: sessionStorage });
  }

  async function readTab({ id, page, navigating }: Tab): Promise<void> {
    if (navigating || pending.has(id) || page.isClosed()) return;
    pending.add(id);
    try {
      const storage = await readPageStorage(page);
      if (storage) keep(id, storage);
    } finally {
      pending.delete(id);
    }
  }

  function dropOldest(): void {
    const sizes = [...origins].map(([origin, entries]) => [origin, countChars(entries)] as const);
    let chars = [...sessionStorages.values()].reduce((sum, { entries }) => sum + countChars(entries), 0);
    if (chars > MAX_STORAGE_CHARS) {
      sessionStorages.clear();
      lost.add('storage');
      chars = 0;
    }
    chars += sizes.reduce((sum, [, size]) => sum + size, 0);
    for (const [origin, size] of sizes) {
      if (chars <= MAX_STORAGE_CHARS && origins.size <= MAX_ORIGINS) return;
      origins.delete(origin);
      chars -= size;
      lost.add('storage');
    }
  }

  return {
    follow: (page) => databases.follow(page),
    waitForDatabases: () => databases.wait(),
    async read(tabs, { isIdle }) {
      const [read] = await Promise.all([isIdle ? databases.read() : databases.getLast(), ...tabs.map(readTab)]);
      const open = new Set(tabs.map(({ id }) => id));
      for (const id of sessionStorages.keys()) if (!open.has(id)) sessionStorages.delete(id);
      dropOldest();
      const cookies = await withDeadline(context.cookies(), COOKIES_TIMEOUT_MS);
      const isTooLarge = cookies.reduce((sum, { name, value }) => sum + name.length + value.length, 0) > MAX_COOKIE_CHARS;
      return {
        cookies: isTooLarge ? [] : cookies.map((cookie) => ({ ...cookie })),
        origins: [...origins].map(([origin, entries]) => ({ origin, entries })),
        databases: read.databases,
        tabs: [...sessionStorages].map(([id, storage]) => ({ id, ...storage })),
        lost: [...lost, ...(isTooLarge ? ['cookies'] : []), ...(read.isCurrent ? [] : ['indexedDB'])],
      };
    },
    findSessionStorage: (tabId) => sessionStorages.get(tabId),
  };
}

function countChars(entries: StorageEntries): number {
  return entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}

/** Returns the option of a new context that restores cookies, local storage and databases. */
export function toContextState(state: StorageState): NonNullable<BrowserContextOptions['storageState']> {
  return { cookies: state.cookies as unknown as Cookie[], origins: toContextOrigins(state) };
}

function toContextOrigins({ origins, databases }: StorageState): { origin: string; localStorage: { name: string; value: string }[] }[] {
  const entries = new Map(origins.map((state) => [state.origin, state.entries]));
  const indexedDB = new Map(databases.map((state) => [state.origin, state.databases]));
  // The driver accepts the databases that it has read, but its types do not name them.
  return [...new Set([...entries.keys(), ...indexedDB.keys()])].map((origin) => ({
    origin,
    localStorage: (entries.get(origin) ?? []).map(([name, value]) => ({ name, value })),
    indexedDB: indexedDB.get(origin) ?? [],
  }));
}
