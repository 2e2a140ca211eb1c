import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { findAccessibilityFaults, openDashboard, skip, visit, type DashboardBrowser } from './dashboard-browser.ts';
import { changeResult } from './dashboard-intercept.ts';
import { call } from './exchange.ts';

/** A PNG of one pixel. */
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const TEXT = `# Title

A **bold** word, \`code\`, and a [link](https://example.com/path) to elsewhere.

1. first
2. second

| a | b |
| - | - |
| 1 | 2 |

\`\`\`
<b>code</b>
\`\`\`

<script>globalThis.pwned=1</script> and <img src=x onerror="globalThis.pwned=1">

[script](javascript:globalThis.pwned=1) ![outside](https://evil.example/pixel.png) ![stored](/media/picture_1)

${'>'.repeat(400)} deep`;

describe('Markdown in messages', { skip, timeout: 120_000 }, () => {
  let dashboard: DashboardBrowser;

  before(async () => {
    dashboard = await openDashboard();
    await call(dashboard.product, 'agent.execute', { message: 'hello' });
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  test('is rendered without HTML, with the hosts of links, and with pictures of this gateway only', async () => {
    const { page, faults } = dashboard;
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.route('**/media/picture_1', (route) => {
      assert.match(route.request().headers().authorization ?? '', /^Bearer /);
      return route.fulfill({ contentType: 'image/png', body: PNG });
    });
    const messages = [
      { role: 'user', content: TEXT },
      { role: 'assistant', content: TEXT },
    ];
    await changeResult(page, 'session.history', (result) => ({ ...result, messages }));
    await visit(page, 'Sessions');
    await page.getByRole('region', { name: 'Sessions', exact: true }).getByRole('button').first().click();
    const markdown = page.locator('.markdown');
    await markdown.getByRole('img', { name: 'stored' }).waitFor();
    assert.equal(await markdown.count(), 1);
    const link = markdown.getByRole('link');
    assert.equal(await link.count(), 1);
    assert.equal(await link.getAttribute('href'), 'https://example.com/path');
    assert.equal(await link.getAttribute('rel'), 'noopener noreferrer');
    await markdown.getByText('(example.com)').waitFor();
    for (const text of [
      '<b>code</b>',
      '<script>globalThis.pwned=1</script>',
      '[script](javascript:globalThis.pwned=1)',
      '![outside]',
      'deep',
    ])
      assert.ok(((await markdown.textContent()) ?? '').includes(text), text);
    assert.deepEqual(await markdown.getByRole('listitem').allTextContents(), ['first', 'second']);
    assert.deepEqual(await markdown.getByRole('cell').allTextContents(), ['1', '2']);
    assert.equal(await markdown.locator('script, b, h1').count(), 0);
    // The message of a person is shown as it was written.
    await page.getByText('# Title').waitFor();
    assert.equal(await page.evaluate('globalThis.pwned'), undefined);
    assert.ok(!requests.some((url) => url.includes('evil.example')));
    assert.deepEqual(await findAccessibilityFaults(page), []);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    assert.deepEqual(faults, []);
  });
});
