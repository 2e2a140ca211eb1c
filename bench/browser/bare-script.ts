import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium } from '@switchyard/testkit';
import { chromium, type Page } from 'playwright-core';

/** Chromium refuses to sandbox itself as root. */
const USER_ID = 62_998;

export interface BareBrowser {
  /** Opens an address in a new context. */
  open(url: string): Promise<void>;
  /** Loads an address in the first tab and takes the driver's snapshot. */
  look(url: string): Promise<void>;
  click(): Promise<void>;
  close(): Promise<void>;
}

/** Launches Chromium with playwright-core alone: default flags, with the sandbox, without a proxy. */
export async function launchBare(): Promise<BareBrowser> {
  const program = await findChromium();
  const folder = await mkdtemp(join(tmpdir(), 'bench-browser-'));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(folder, USER_ID, USER_ID);
  const asUser = ['setpriv', `--reuid=${USER_ID}`, `--regid=${USER_ID}`, '--clear-groups', '--', program];
  const browser = await chromium.launch({
    executablePath: isRoot ? '/usr/bin/env' : program,
    chromiumSandbox: true,
    env: { HOME: folder, TMPDIR: folder, PATH: '/usr/bin:/bin' },
    ...(isRoot && { ignoreDefaultArgs: true, args: [...asUser, ...listDefaultFlags(folder)] }),
  });
  const contexts: Page[] = [];
  const open = async (url: string): Promise<Page> => {
    const context = await browser.newContext({ viewport: { width: 1_280, height: 720 } });
    const page = await context.newPage();
    contexts.push(page);
    await page.goto(url);
    return page;
  };
  const getPage = async (): Promise<Page> => contexts[0] ?? open('about:blank');
  return {
    open: async (url) => void (await open(url)),
    async look(url) {
      const page = await getPage();
      await page.goto(url);
      await page.ariaSnapshot({ mode: 'ai' });
    },
    click: async () => (await getPage()).click('button'),
    async close() {
      await browser.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** Lists default flags of the driver. Root starts Chromium through `setpriv`, so the driver cannot add them. */
function listDefaultFlags(folder: string): string[] {
  return [
    '--headless',
    '--remote-debugging-pipe',
    `--user-data-dir=${join(folder, 'profile')}`,
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-extensions',
    '--disable-gpu',
    '--disable-sync',
    '--hide-scrollbars',
    '--mute-audio',
    '--no-first-run',
    '--no-startup-window',
  ];
}
