import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { contracts, eventServices, notifications, publicMethods, unserved, type Contract } from '@switchyard/contracts';
import { referencePages } from './pages.ts';

const root = new URL('../../../', import.meta.url);
const pages = await referencePages();

test('the committed pages equal the generated ones, and no other page exists', async () => {
  for (const [file, text] of Object.entries(pages)) assert.equal(await readFile(new URL(file, root), 'utf8'), text, `${file}: make lock`);
  const keptItems = (await readdir(new URL('docs/reference/methods/', root))).map((name) => `docs/reference/methods/${name}`);
  assert.deepEqual(
    keptItems.filter((file) => !(file in pages)),
    [],
  );
});

test('documents every method, event and notification in a section, or lists it as not implemented', () => {
  const listed = new Set(pages['docs/reference/not-implemented.md']?.matchAll(/^\| `([^`]+)`/gm).map(([, name = '']) => name));
  const sections = new Set(Object.values(pages).flatMap((text) => [...text.matchAll(/^## (.+)$/gm)].map(([, name = '']) => name)));
  for (const name of [...publicMethods.keys(), ...eventServices.keys(), ...Object.keys(notifications)])
    assert.equal(Number(sections.has(name)) + Number(listed.has(name)), 1, name);
  for (const name of publicMethods.keys()) assert.equal(listed.has(name), (unserved as ReadonlySet<string>).has(name), name);
});

test('every link within the reference has an existing target', async () => {
  for (const [file, text] of Object.entries(pages)) {
    for (const [, target = ''] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) await readFile(new URL(target, new URL(file, root)));
  }
});

test('the examples of events and notifications match their schemas', () => {
  for (const { events } of Object.values(contracts) as Contract[])
    for (const [name, { payload, example }] of Object.entries(events)) assert.equal(payload.safeParse(example).error, undefined, name);
  for (const [name, { params, example }] of Object.entries(notifications)) assert.equal(params.safeParse(example).error, undefined, name);
});
