import type { Result } from '@switchyard/contracts';
import type { Page } from 'playwright-core';

const MAX_ENTRIES = 500;
const MAX_TEXT_CHARS = 2_000;
const MAX_LOCATION_CHARS = 1_000;

type Entry = Result<'browser.console'>['entries'][number];

export interface ConsoleLog {
  follow(page: Page): void;
  list(level?: string): Entry[];
}

/** Keeps the last console lines and script errors of the pages of one session. */
export function createConsoleLog(now: () => number): ConsoleLog {
  const entries: Entry[] = [];

  function add(level: string, text: string, location?: string): void {
    if (entries.length === MAX_ENTRIES) entries.shift();
    const place = location === undefined || location === '' ? {} : { location: location.slice(0, MAX_LOCATION_CHARS) };
    entries.push({ level: level.slice(0, 16), text: text.slice(0, MAX_TEXT_CHARS), timestamp: now(), ...place });
  }

  return {
    follow(page) {
      page.on('console', (message) => {
        const { url, lineNumber } = message.location();
        add(message.type(), message.text(), url === '' ? undefined : `${url}:${lineNumber + 1}`);
      });
      page.on('pageerror', (error) => add('error', error.message));
    },
    list: (level) => (level === undefined ? [...entries] : entries.filter((entry) => entry.level === level)),
  };
}
