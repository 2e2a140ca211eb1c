import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { services } from '@switchyard/embedded';
import { startProcess, tempDir } from '@switchyard/testkit';
import { copyOfTheTree, PATIENCE_MS, type Copy } from './repository-copy.ts';

// The tests build on each other: a copy without the service, with it, and with a second method.
const options = { timeout: PATIENCE_MS };

/** Tests that derive their cases from the contracts and the served methods. */
const DERIVED = '**/{notes,served,examples-served,methods,openrpc,examples,compatibility,sizes}.test.ts';

const CONTRACT = `  'notes.get': {
    summary: 'The text that is kept under a name.',
    scope: 'rpc',
    beyond: true,
    params: z.strictObject({ name: Name }),
    result: z.object({ text: Text }),
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [{ params: { name: 'first' }, result: { text: 'hello' } }],
  },
`;

const HANDLER = `import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { NotesDocument } from '../data.ts';

export function notesGet(entries: Collection<NotesDocument>): Handler<'notes.get'> {
  return async ({ name }, ctx) => {
    const entry = await entries.for(ctx.principal).get(name);
    if (!entry) throw new ServiceError('NOT_FOUND', \`there is nothing under the name \${name}\`);
    return { text: entry.text };
  };
}
`;

let copy: Copy;
before(async () => {
  copy = await copyOfTheTree();
}, options);
after(() => copy[Symbol.asyncDispose]());

async function passes(...words: string[]): Promise<string> {
  const { code, output } = await copy.run(...words);
  assert.equal(code, 0, `${words.join(' ')}:\n${output}`);
  return output;
}

test('make service creates a service', options, async () => {
  await passes('make', 'service', 'NAME=notes');
});

test('the new service passes make check and its own tests', options, async () => {
  await passes('make', 'check');
  await passes('make', 'test', 'TESTS=services/notes/**/*.test.ts');
});

test('npm accepts the lock file', options, async () => {
  await passes('npm', 'ci', '--dry-run', '--offline', '--ignore-scripts');
});

test('make service rejects the name of an existing service', options, async () => {
  const { code, output } = await copy.run('make', 'service', 'NAME=notes');
  assert.notEqual(code, 0);
  assert.match(output, /^services\/notes is there already/);
});

test('make check reports a method without a handler', options, async () => {
  copy.insert('libs/contracts/src/notes/notes.ts', CONTRACT, '});\n');
  const { code, output } = await copy.run('node_modules/.bin/node', 'scripts/contracts/lock-contracts.ts');
  assert.equal(code, 1);
  assert.match(output, /new entries.*make lock/s);
  assert.match(output, /notes\.get is declared, but no service has a handler for it/);
});

test('a method needs only its contract and its handler', options, async () => {
  copy.write('services/notes/src/handlers/notes-get.ts', HANDLER);
  const service = 'services/notes/src/service.ts';
  copy.insert(service, "import { notesGet } from './handlers/notes-get.ts';\n", '\n/** Stores texts');
  copy.insert(service, "      'notes.get': notesGet(entries),\n", '    };\n');
  await passes('make', 'lock');
  await passes('make', 'check');
  await passes('make', 'test', `TESTS=${DERIVED}`);
  const output = await passes('node_modules/.bin/node', '--test-reporter=spec', 'tests/conformance/examples-served.test.ts');
  for (const method of ['notes.create', 'notes.get']) assert.match(output, new RegExp(`✔ ${method} does what its examples say`));
});

test('the product serves both methods, and the CLI calls them', options, async () => {
  await using data = await tempDir();
  const env = { HOME: data.path, SWITCHYARD_DATA: data.path, SWITCHYARD_PORT: '0', SWITCHYARD_CONFIG: ':', NO_COLOR: '1' };
  await using product = await startProcess([process.execPath, `${copy.path}/services/embedded/src/main.ts`], { env, ready: /^Try:/m });
  const all = services.length + 2; // the gateway and the new service
  assert.ok(product.output().includes(`${all}/${all} ready`), product.output());

  const rpc = async (...words: string[]): Promise<string> => {
    await using command = await startProcess([`${copy.path}/bin/switchyard`, 'rpc', ...words], { env });
    const { code } = await command.exited;
    assert.equal(code, 0, command.output());
    return command.output();
  };
  assert.match(await rpc('notes.create', 'name=mine', 'text=hello there'), /"createdAt"/);
  assert.deepEqual(JSON.parse(await rpc('notes.get', 'name=mine')), { text: 'hello there' });
});
