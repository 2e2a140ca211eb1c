import type { Page } from 'playwright-core';
import type { Refs } from './refs.ts';

/** One tab. Its id is never used again. */
export interface Tab {
  readonly id: string;
  readonly page: Page;
  readonly refs: Refs;
  /** Dialogs and refused downloads since the call began. */
  readonly happenings: { dialogs: string[]; downloads: string[] };
  /** The latest address that the main frame requested, also if it was refused. */
  requested: string;
  /** Whether the main frame waits for the answer to a navigation. */
  navigating: boolean;
}

/** Returns the address of a tab. A tab whose page cannot be loaded, or that is only being restored, has the address it requested. */
export function getTabUrl({ page, requested, navigating }: Pick<Tab, 'page' | 'requested' | 'navigating'>): string {
  const url = page.url();
  const isEmpty = url.startsWith('chrome-error:') || (url === 'about:blank' && navigating);
  return isEmpty ? requested : url;
}
