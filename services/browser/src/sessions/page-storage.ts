import type { Page } from 'playwright-core';
import { z } from 'zod';
import { withDeadline } from './deadline.ts';

const READ_TIMEOUT_MS = 1_000;
/** Characters of the entries of one origin. Longer storage is not read. */
const MAX_STORAGE_CHARS = 1_048_576;

export const StorageEntries = z.array(z.tuple([z.string(), z.string()]));
export type StorageEntries = z.infer<typeof StorageEntries>;

const PageStorage = z.object({
  origin: z.string(),
  localStorage: StorageEntries.nullable(),
  sessionStorage: StorageEntries.nullable(),
});
/** The storage of the main frame of a page. Entries are null where they are too long. */
export type PageStorage = z.infer<typeof PageStorage>;

/** Runs in the page. */
const READ = `(() => {
  const read = (storage) => {
    const entries = [];
    let chars = 0;
    for (let at = 0; at < storage.length; at++) {
      const name = storage.key(at);
      const value = storage.getItem(name);
      chars += name.length + value.length;
      if (chars > ${MAX_STORAGE_CHARS}) return null;
      entries.push([name, value]);
    }
    return entries;
  };
  return JSON.stringify({ origin: location.origin, localStorage: read(localStorage), sessionStorage: read(sessionStorage) });
})()`;

/** Reads the storage of the main frame. Undefined if the page has none, does not answer in time, or answers something else. */
export async function readPageStorage(page: Page): Promise<PageStorage | undefined> {
  const { protocol, origin } = new URL(page.url());
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  try {
    const text: unknown = await withDeadline(page.evaluate(READ), READ_TIMEOUT_MS);
    const storage = PageStorage.parse(JSON.parse(String(text)));
    return storage.origin === origin ? storage : undefined;
  } catch {
    return undefined;
  }
}

/** Fills the session storage of the next document of this origin in the main frame. Returns a function that withdraws the script. */
export async function fillSessionStorage(page: Page, origin: string, entries: StorageEntries): Promise<() => Promise<void>> {
  const script = await page.addInitScript(
    ({ origin: expected, entries: known }) => {
      const { location, sessionStorage, top, self } = globalThis as unknown as PageGlobals;
      if (top !== self || location.origin !== expected) return;
      for (const [name, value] of known) sessionStorage.setItem(name, value);
    },
    { origin, entries },
  );
  return () => script.dispose();
}

interface PageGlobals {
  location: { origin: string };
  sessionStorage: { setItem(name: string, value: string): void };
  top: unknown;
  self: unknown;
}
