import type { Page } from './page.ts';

/** Each folder beside this file is one page. A page is added by adding its folder. */
const folders = import.meta.glob<{ page: Page }>('./*/page.ts', { eager: true });

/** All pages, in the order of the navigation. */
export const pages: readonly Page[] = Object.values(folders)
  .map(({ page }) => page)
  .toSorted((a, b) => a.order - b.order);
