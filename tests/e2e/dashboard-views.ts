import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { findAccessibilityFaults, getOverflow } from './dashboard-browser.ts';

/** A directory for a picture of each view, or undefined: the pictures are looked at by a person. */
const PICTURES = process.env.SWITCHYARD_TEST_PICTURES;
const THEMES = ['light', 'dark'] as const;
const WIDTHS = [
  { width: 1_280, height: 900 },
  { width: 320, height: 640 },
];

/** The page is not loaded anew: the themes and widths are properties of its window. */
export async function checkThemesAndWidths(page: Page, state: string, title: string): Promise<void> {
  for (const size of WIDTHS) {
    await page.setViewportSize(size);
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      const view = `${title}, ${state}, ${colorScheme}, ${size.width} pixels`;
      // A theme changes colours only, so the other rules need no second run.
      const rules = colorScheme === 'light' ? undefined : ['color-contrast'];
      assert.deepEqual(await findAccessibilityFaults(page, rules), [], view);
      if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `${view}.png`) });
    }
    assert.equal(await getOverflow(page), 0, `${title} is wider than ${size.width} pixels`);
  }
}

/** Returns the faults since the last call. The console reports each answer that is an HTTP error, which states of failure have. */
export function takeFaults(faults: string[]): string[] {
  return faults.splice(0).filter((fault) => !fault.startsWith('Failed to load resource'));
}
