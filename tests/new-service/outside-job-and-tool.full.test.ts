import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { copyOfTheTree, PATIENCE_MS, type Copy } from './repository-copy.ts';

/** Files that may be edited by hand for a service with a setting, a durable job, an outside and a tool. */
const MAX_EDITED_FILES = 10;
const options = { timeout: 2 * PATIENCE_MS };

const CONTRACT = 'libs/contracts/src';
const SERVICE = 'services/notes';

const SECTION = `import { z } from 'zod';
import { positive } from './kinds.ts';

export const notes = z.strictObject({ maxImportBytes: positive(65_536).describe('size of a page that is imported') }).prefault({});
`;

const OPERATIONS = `
export const notesOperations = defineOperations({
  'notes.import': {
    summary: 'Stores the text of a web page under a name, as soon as the page can be read.',
    callers: ['sessions'],
    tool: { name: 'notes_import', group: 'other' },
    params: z.strictObject({ name: Name, url: z.url().max(MAX.url) }),
    result: z.object({ accepted: z.literal(true) }),
    idempotent: true,
  },
});
`;

const IMPORTS = `import type { Settings } from '@switchyard/service-kit';
import { type Collection, inserted, type Store } from '@switchyard/store';
import { createWork, type Work } from '@switchyard/work';
import type { ImportDocument, NotesDocument } from './data.ts';

const CAPACITY = 4;
const MAX_ATTEMPTS = 5;

interface ImportDeps {
  imports: Collection<ImportDocument>;
  entries: Collection<NotesDocument>;
  store: Store;
  settings: Settings<'notes' | 'security'>;
  replica: string;
}

/** Reads pages from the outside. A page that cannot be read now is read again, also by another replica. */
export async function startImports({ imports, entries, store, settings, replica }: ImportDeps): Promise<Work<ImportDocument>> {
  const { createEgress } = await import('@switchyard/egress');
  const egress = createEgress({ settings: () => settings.current.security });
  const work = createWork<ImportDocument>({
    documents: imports,
    owner: replica,
    now: () => store.now(),
    capacity: () => CAPACITY,
    async run({ document: { name, url }, tenant, signal }) {
      const response = await egress.fetch(url, { signal, maxBytes: settings.current.notes.maxImportBytes });
      const text = await response.text();
      await inserted(() => entries.for({ tenant }).insert({ name, text, createdAt: store.now() }));
      return { end: 'done' };
    },
    poison: { maxAttempts: MAX_ATTEMPTS, outcome: () => ({ end: 'failed' }) },
  });
  await work.poll();
  return work;
}
`;

const TEST = `import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { mapHosts } from '@switchyard/egress/testing';
import { testService } from '@switchyard/testkit';
import { notes } from './service.ts';

test('imports a page from the outside with a durable job', async (t) => {
  const server = createServer((_, response) => response.end('the page'));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  using _mapped = mapHosts({ 'page.example': { port: (server.address() as AddressInfo).port } });
  await using app = await testService(notes, { from: 'sessions' });
  await app.bus.call('notes.import', { name: 'page', url: 'http://page.example/' });
  const isStored = () => app.bus.call('notes.create', { name: 'page', text: '' }).then(() => false, () => true);
  while (!(await isStored())) await new Promise(setImmediate);
});
`;

let copy: Copy;
const edited = new Set<string>();
before(async () => {
  copy = await copyOfTheTree();
}, options);
after(() => copy[Symbol.asyncDispose]());

function insert(file: string, text: string, place: string): void {
  edited.add(file);
  copy.insert(file, text, place);
}

function write(file: string, content: string): void {
  edited.add(file);
  copy.write(file, content);
}

async function passes(...words: string[]): Promise<void> {
  const { code, output } = await copy.run(...words);
  assert.equal(code, 0, `${words.join(' ')}:\n${output}`);
}

test('a service with a setting, a durable job, an outside and a tool needs at most ten edited files', options, async () => {
  await passes('make', 'service', 'NAME=notes');
  write(`${CONTRACT}/config/notes.ts`, SECTION);
  insert(`${CONTRACT}/config/sections.ts`, "import { notes } from './notes.ts';\n", "import { queue } from './queue.ts';");
  insert(`${CONTRACT}/config/sections.ts`, '  notes,\n', '  queue,\n');
  insert(`${CONTRACT}/catalog/setting-owners.ts`, "  notes: 'notes',\n", "  queue: 'sessions/agent',\n");
  insert(`${CONTRACT}/notes/notes.ts`, 'defineOperations, ', 'defineMethods }');
  write(`${CONTRACT}/notes/notes.ts`, copy.read(`${CONTRACT}/notes/notes.ts`) + OPERATIONS);
  write(
    `${CONTRACT}/notes/contract.ts`,
    copy
      .read(`${CONTRACT}/notes/contract.ts`)
      .replace('import { notesMethods }', 'import { notesMethods, notesOperations }')
      .replace('operations: {}', 'operations: { ...notesOperations }'),
  );
  insert(`${SERVICE}/package.json`, '"@switchyard/egress": "0.1.0",\n    ', '"@switchyard/service-kit"');
  insert(`${SERVICE}/package.json`, '"@switchyard/work": "0.1.0",\n    ', '"zod"');
  insert(`${SERVICE}/src/data.ts`, "import { workFields, workIndex } from '@switchyard/work';\n", "import { z } from 'zod';");
  write(
    `${SERVICE}/src/data.ts`,
    `${copy.read(`${SERVICE}/src/data.ts`)}
/** A page to import. */
export const ImportDocument = z.object({ ...workFields, name: z.string(), url: z.string() });
export type ImportDocument = z.infer<typeof ImportDocument>;

export const importCollection = collection({ name: 'imports', schema: ImportDocument, key: 'name', indexes: [workIndex] });
`,
  );
  write(`${SERVICE}/src/import-work.ts`, IMPORTS);
  write(`${SERVICE}/src/notes.test.ts`, TEST);
  const service = `${SERVICE}/src/service.ts`;
  write(
    service,
    copy
      .read(service)
      .replace(
        "import { entryCollection } from './data.ts';",
        "import { newWork } from '@switchyard/work';\nimport { entryCollection, importCollection } from './data.ts';",
      )
      .replace("from './handlers/notes-create.ts';", "from './handlers/notes-create.ts';\nimport { startImports } from './import-work.ts';")
      .replace('settings: []', "settings: ['notes', 'security']")
      .replace('async setup({ store })', 'async setup({ store, settings, replica, own })')
      .replace(
        'const { entries } = await store.open({ entries: entryCollection });',
        'const { entries, imports } = await store.open({ entries: entryCollection, imports: importCollection });\n    const work = own.use(await startImports({ imports, entries, store, settings, replica }));',
      )
      .replace(
        '    };\n',
        `      'notes.import': async ({ name, url }, { principal }) => {
        await work.add(principal, { ...newWork(), name, url });
        void work.poll().catch(() => undefined);
        return { accepted: true };
      },
    };
`,
      ),
  );
  await passes('npm', 'install', '--package-lock-only', '--ignore-scripts', '--offline', '--no-audit', '--no-fund');
  await passes('node_modules/.bin/oxfmt', ...edited);
  await passes('make', 'lock');
  assert.ok(edited.size <= MAX_EDITED_FILES, [...edited].join('\n'));
  await passes('node_modules/.bin/node', 'node_modules/typescript-7/bin/tsc', '-p', 'tsconfig.json');
  await passes('node_modules/.bin/oxlint', '--deny-warnings', SERVICE, `${CONTRACT}/notes`, `${CONTRACT}/config`);
  await passes('node_modules/.bin/node', 'scripts/check/check-repository.ts');
  await passes('node_modules/.bin/node', '--test', `${SERVICE}/src/notes.test.ts`, `${CONTRACT}/catalog/setting-owners.test.ts`);
  const discovery = await copy.run('node_modules/.bin/node', '--test', 'services/sessions/src/tools/tool-deferral.test.ts');
  assert.equal(discovery.code, 0, discovery.output);
});
