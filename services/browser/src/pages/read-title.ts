import type { Page } from 'playwright-core';
import { isClosed, PageUnresponsive, withDeadline } from '../sessions/deadline.ts';

const MAX_TITLE_CHARS = 2_048;
const MAX_ATTEMPTS = 3;

/**
 * Reads the title of a page; empty if other documents keep replacing it. The driver's own method returns a text like "Loading …" while a
 * document is replaced. Throws `PageUnresponsive`.
 */
export async function readTitle(page: Page, timeoutMs: number): Promise<string> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    try {
      return String(await withDeadline(page.evaluate('document.title'), timeoutMs)).slice(0, MAX_TITLE_CHARS);
    } catch (error) {
      if (error instanceof PageUnresponsive || isClosed(error)) throw error;
    }
  }
  return '';
}
