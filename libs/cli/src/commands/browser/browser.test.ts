import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { runCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';

const browser = (url: string, cwd: string, ...args: string[]) =>
  runCommand(['browser', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

const page = { url: 'https://example.com/', title: 'Example', truncated: false, stats: { lines: 1, chars: 1, refs: 1, interactive: 1 } };
const answers: Record<string, unknown> = {
  'browser.open': { tabId: 'tab_1' },
  'browser.tabs': { tabs: [{ id: 'tab_1', url: 'https://example.com/', title: 'Example' }] },
  'browser.snapshot': { ...page, snapshot: '- link "More" [ref=e1]', refs: { e1: { role: 'link', name: 'More' } } },
  'browser.screenshot': { data: Buffer.from('image').toString('base64'), mimeType: 'image/png', width: 1280, height: 720 },
};

test('opens a tab, lists tabs, prints the page and writes its image', async () => {
  await using folder = await tempDir();
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), answers[call.method]) });
  const run = async (...args: string[]): Promise<string> => (await browser(server.url, folder.path, ...args)).stdout;
  assert.equal(await run('open', 'https://example.com'), 'tab_1\n');
  assert.match(await run(), /tab_1 +Example +https:\/\/example\.com\//);
  assert.equal(await run('snapshot', '--interactive', '--max-chars', '500'), '- link "More" [ref=e1]\n');
  assert.equal(await run('screenshot', '--full', '--out', 'page.png'), 'page.png: 5 bytes of image/png, 1280 x 720 pixels\n');
  assert.equal(readFileSync(join(folder.path, 'page.png'), 'utf8'), 'image');
  assert.deepEqual(
    calls.map(({ method, params }) => [method, params]),
    [
      ['browser.open', { url: 'https://example.com' }],
      ['browser.tabs', {}],
      ['browser.snapshot', { interactive: true, maxChars: 500 }],
      ['browser.screenshot', { fullPage: true }],
    ],
  );
});
