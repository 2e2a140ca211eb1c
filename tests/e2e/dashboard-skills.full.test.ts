import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import type { Locator, Page } from 'playwright-core';
import { openDashboard, skip, visit, waitUntilLoaded, type DashboardBrowser } from './dashboard-browser.ts';
import { checkThemesAndWidths } from './dashboard-views.ts';
import { call } from './exchange.ts';

const TEXT = '---\nname: release-notes\ndescription: Writes release notes.\n---\nRead the commits.\n';

describe('the Skills page of the dashboard', { skip, timeout: 300_000 }, () => {
  let dashboard: DashboardBrowser;
  let page: Page;

  before(async () => {
    dashboard = await openDashboard({ config: { agents: { default: {}, oslo: {} } } });
    ({ page } = dashboard);
    await visit(page, 'Skills');
  });
  after(() => (dashboard as DashboardBrowser | undefined)?.[Symbol.asyncDispose]());

  const readSkills = async (agentId = 'default') =>
    (await call<{ skills: { name: string; description: string }[] }>(dashboard.product, 'skills.list', { agentId })).skills;
  const row = (name: string): Locator => page.getByRole('row').filter({ has: page.getByRole('cell', { name, exact: true }) });

  test('an agent without skills: the page says what a skill is and names the command', async () => {
    await page.getByText('A skill is a folder with instructions').waitFor();
    await page.getByText('switchyard skills upload', { exact: true }).waitFor();
    await checkThemesAndWidths(page, 'empty', 'Skills');
  });

  test('a skill is created, and an error is shown at the field that it names', async () => {
    const form = page.getByRole('region', { name: 'Create a skill' });
    const [name, text] = [form.getByLabel('Name', { exact: true }), form.getByLabel('SKILL.md')];
    const create = form.getByRole('button', { name: 'Create skill' });
    await name.fill('release-notes');
    assert.match(await text.inputValue(), /^---\nname: release-notes\ndescription: #/);
    await text.fill('Read the commits.');
    await create.click();
    await form.getByRole('alert').getByText('front matter').waitFor();
    assert.equal(await text.getAttribute('aria-invalid'), 'true');
    assert.equal(await text.getAttribute('aria-describedby'), await form.getByRole('alert').getAttribute('id'));
    assert.equal(await name.getAttribute('aria-invalid'), 'false');
    await checkThemesAndWidths(page, 'refused', 'Skills');
    await name.fill('other');
    await text.fill(TEXT);
    await create.click();
    await form.getByRole('alert').getByText('name: expected release-notes').waitFor();
    assert.equal(await name.getAttribute('aria-invalid'), 'true');
    assert.deepEqual(await readSkills(), []);
    await name.fill('release-notes');
    await create.click();
    await form.getByText('Created release-notes.').waitFor();
    assert.equal(await form.getByRole('alert').count(), 0);
    await row('release-notes').getByRole('cell', { name: 'Writes release notes.' }).waitFor();
    await row('release-notes').getByRole('cell', { name: 'models, users' }).waitFor();
  });

  test('an edit begins with a template, says that it replaces the text, and survives leaving the page', async () => {
    await row('release-notes').getByRole('button', { name: 'Edit' }).click();
    const form = page.getByRole('region', { name: 'Edit release-notes' });
    await form.getByText('replaces the whole text').waitFor();
    const text = form.getByLabel('New text of SKILL.md');
    assert.equal(
      await text.inputValue(),
      '---\nname: release-notes\ndescription: "Writes release notes."\n---\nWrite the instructions here.\n',
    );
    await text.fill(TEXT.replace('Writes release notes.', 'Writes and sends release notes.\ndisableModelInvocation: true'));
    await visit(page, 'Agents');
    await page.goBack();
    await form.getByRole('button', { name: 'Replace text' }).click();
    await form.waitFor({ state: 'detached' });
    await row('release-notes').getByRole('cell', { name: 'users', exact: true }).waitFor();
    assert.deepEqual(
      (await readSkills()).map(({ description }) => description),
      ['Writes and sends release notes.'],
    );
  });

  test('a folder is uploaded for the chosen agent without its hidden and binary files', async () => {
    await using folder = await tempDir();
    const root = join(folder.path, 'notes');
    for (const below of ['scripts', '.git']) await mkdir(join(root, below), { recursive: true });
    await writeFile(join(root, 'SKILL.md'), TEXT.replace('release-notes', 'uploaded'));
    await writeFile(join(root, 'scripts/run.sh'), 'ls\n');
    await writeFile(join(root, '.git/config'), '[core]');
    await writeFile(join(root, 'logo.png'), Buffer.from([0x89, 0x50, 0, 1]));
    const agents = page.getByRole('main').getByRole('combobox');
    await agents.selectOption('oslo');
    await page.getByText('A skill is a folder with instructions').waitFor();
    const form = page.getByRole('region', { name: 'Upload a folder' });
    await form.getByLabel('Folder with SKILL.md').setInputFiles(root);
    await form.getByText('2 text files').waitFor();
    assert.match((await form.getByRole('status').first().textContent()) ?? '', /Skipped.*logo\.png/);
    assert.equal(await form.getByLabel('Name, as in SKILL.md').inputValue(), 'uploaded');
    await form.getByRole('button', { name: 'Upload skill' }).click();
    await form.getByText('Uploaded uploaded.').waitFor();
    await row('uploaded').waitFor();
    assert.deepEqual(
      (await readSkills('oslo')).map(({ name }) => name),
      ['uploaded'],
    );
    await agents.selectOption('');
    await row('release-notes').waitFor();
  });

  test('the list follows the events of other clients, and a skill is deleted after its name is typed', async () => {
    const { product } = dashboard;
    await call(product, 'skills.create', { name: 'meanwhile', content: TEXT.replace('release-notes', 'meanwhile'), scope: 'shared' });
    await row('meanwhile').getByRole('cell', { name: 'local, shared' }).waitFor();
    await checkThemesAndWidths(page, 'two records', 'Skills');
    await page.setViewportSize({ width: 1_280, height: 900 });
    await row('meanwhile').getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete meanwhile' });
    await dialog.getByRole('textbox').fill('meanwhile');
    await dialog.getByText('from every agent').waitFor();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await row('meanwhile').waitFor({ state: 'detached' });
    await call(product, 'skills.delete', { name: 'release-notes' });
    await page.getByText('A skill is a folder with instructions').waitFor();
    assert.deepEqual(await readSkills(), []);
  });

  test('reported no error and no violation of the policy', async () => {
    await waitUntilLoaded(page);
    assert.deepEqual(dashboard.faults, []);
  });
});
