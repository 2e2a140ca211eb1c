// Takes the pictures of the dashboard in docs/pictures: node scripts/pictures/dashboard.ts. Look at each of them before you commit it.
import { fileURLToPath } from 'node:url';
import { findAccessibilityFaults, openDashboard, sendMessage, visit } from '../../tests/e2e/dashboard-browser.ts';
import { call } from '../../tests/e2e/exchange.ts';

const PICTURES = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));
const SIZE = { width: 1_100, height: 700 };
const QUESTIONS = ['Which of the three offers is the cheapest?', 'Summarize the report of yesterday.', 'What changed since Monday?'];

const config = {
  agents: { default: {}, researcher: { name: 'Researcher', model: 'dev/tools' }, support: { name: 'Support' } },
};
await using dashboard = await openDashboard({ config });
const { page, product } = dashboard;
await page.setViewportSize(SIZE);

async function take(name: string): Promise<void> {
  const faults = await findAccessibilityFaults(page);
  if (faults.length > 0) throw new Error(`${name}: ${faults.join('; ')}`);
  await page.screenshot({ path: `${PICTURES}dashboard-${name}.png` });
}

for (const [n, message] of QUESTIONS.entries())
  await call(product, 'agent.execute', {
    agentId: n === 1 ? 'support' : 'default',
    message,
    sessionKey: { channelId: `customer-${n + 1}` },
  });
await call(product, 'memory.store', { content: 'Customer 1 prefers answers as a table.' });
await call(product, 'cron.add', { name: 'nightly-report', message: 'Write the report.', schedule: { kind: 'cron', expr: '0 22 * * *' } });
await call(product, 'config.set', { section: 'gateway', key: 'maxBatchSize', value: 80, message: 'larger batches for the importer' });

for (const message of QUESTIONS.slice(0, 2)) await sendMessage(page, message);
await take('chat');

await page.getByRole('main').getByLabel('Agent').selectOption('researcher');
await page.getByLabel('Message').fill('session_search {"query":"cheapest offer"}');
await page.getByRole('button', { name: 'Send' }).click();
await page.locator('.theirs[data-state=done]').filter({ hasText: 'session_search answered' }).waitFor();
await page.getByRole('link', { name: 'Steps of this turn' }).last().click();
await page.getByRole('region', { name: /^Steps of turn_/ }).waitFor();
await page.getByRole('region', { name: 'What the model received' }).getByText('session_search').first().waitFor();
await page.getByRole('heading', { name: /^Run / }).evaluate('(heading) => heading.scrollIntoView()');
await take('run');

await visit(page, 'Live events');
await page.getByText('message:sent').first().waitFor();
await take('events');

await visit(page, 'Configuration');
await page.getByLabel('Section').selectOption('gateway');
await page.getByLabel('maxBatchSize', { exact: true }).fill('120');
await page.getByRole('button', { name: 'Dry run' }).click();
await page.getByText('The change is valid.').waitFor();
await page.getByText('The change is valid.').evaluate('(text) => text.scrollIntoView({ block: "end" })');
await take('configuration');

await visit(page, 'Home');
await page.getByRole('region', { name: 'Latest turns' }).getByRole('link').first().waitFor();
await take('home');
