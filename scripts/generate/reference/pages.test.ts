import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { contracts, eventServices, notifications, publicMethods, type Contract } from '@switchyard/contracts';
import { referencePages } from './pages.ts';

const root = new URL('../../../', import.meta.url);
const pages = await referencePages();
const linesOf = (file: string): Set<string> => new Set((pages[file] ?? assert.fail(file)).split('\n'));

test('what is kept is what the contracts say, and no page of something that is gone', async () => {
  for (const [file, text] of Object.entries(pages)) assert.equal(await readFile(new URL(file, root), 'utf8'), text, `${file}: make lock`);
  const kept = (await readdir(new URL('docs/reference/methods/', root))).map((name) => `docs/reference/methods/${name}`);
  assert.deepEqual(
    kept.filter((file) => !(file in pages)),
    [],
  );
});

test('every method, event and notification has its section, with its example', () => {
  for (const name of publicMethods.keys()) {
    const lines = linesOf(`docs/reference/methods/${name.slice(0, name.indexOf('.'))}.md`);
    assert.ok(lines.has(`## ${name}`), name);
  }
  const events = linesOf('docs/reference/events.md');
  for (const name of [...eventServices.keys(), ...Object.keys(notifications)]) assert.ok(events.has(`## ${name}`), name);
});

test('every link within the reference leads to a page that is there', async () => {
  for (const [file, text] of Object.entries(pages)) {
    for (const [, target = ''] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) await readFile(new URL(target, new URL(file, root)));
  }
});

test('the examples of events and notifications are what their schemas take', () => {
  for (const { events } of Object.values(contracts) as Contract[])
    for (const [name, { payload, example }] of Object.entries(events)) assert.equal(payload.safeParse(example).error, undefined, name);
  for (const [name, { params, example }] of Object.entries(notifications)) assert.equal(params.safeParse(example).error, undefined, name);
});
