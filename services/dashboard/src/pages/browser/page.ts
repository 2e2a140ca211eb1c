import type { Page } from '../page.ts';

export const page: Page = {
  path: '/browser',
  title: 'Browser',
  group: 'Inspect',
  order: 145,
  needs: ['browser.status'],
  wants: ['browser.close', 'browser.console', 'browser.navigate', 'browser.screenshot', 'browser.start', 'browser.stop', 'browser.tabs'],
  load: async () => (await import('./Browser.tsx')).Browser,
};
