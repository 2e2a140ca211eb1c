import { publicMethods } from '@switchyard/contracts';
import type { ServiceNames } from './name.ts';

const VERSION = '0.1.0';
const ZOD = '4.6.7';

/** Returns the files of a new service by path: one small method with its contract, or an empty service for an existing contract. */
export function newFiles(names: ServiceNames): Record<string, string> {
  const service = `services/${names.name}`;
  const common = {
    [`${service}/package.json`]: packageJson(names),
    [`${service}/src/main.ts`]: `import { runService } from '@switchyard/service-kit';
import { ${names.code} } from './service.ts';

await runService(${names.code});
`,
    [`${service}/src/index.ts`]: `export { ${names.code} } from './service.ts';\n`,
  };
  return { ...common, ...(names.declared ? emptyHouse(service, names) : firstMethod(service, names)) };
}

function packageJson({ name, declared }: ServiceNames): string {
  const ours = ['contracts', 'service-kit', ...(declared ? [] : ['bus', 'store'])].sort().map((lib) => [`@switchyard/${lib}`, VERSION]);
  const content = {
    name: `@switchyard/${name}`,
    version: VERSION,
    private: true,
    description: `The ${name} service.`,
    license: 'Apache-2.0',
    type: 'module',
    exports: { '.': './src/index.ts' },
    dependencies: Object.fromEntries([...ours, ...(declared ? [] : [['zod', ZOD]])]),
    devDependencies: { '@switchyard/testkit': VERSION },
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

function standalone(name: string): string {
  return `## Running it alone

\`SWITCHYARD_BUS=nats://127.0.0.1:4222 node_modules/.bin/node services/${name}/src/main.ts\``;
}

function emptyHouse(service: string, { name, code }: ServiceNames): Record<string, string> {
  const methods = [...publicMethods.values()].filter((method) => method.service === name).map((method) => `- \`${method.name}\``);
  return {
    [`${service}/README.md`]: `# ${name}

Implements its [contract](../../libs/contracts/src/${name}/contract.ts). No method has a handler yet.

## Methods without a handler

${methods.join('\n')}

${standalone(name)}

## Failures

A method without a handler answers UNAVAILABLE and names this service.
`,
    [`${service}/src/service.ts`]: `import { ${code} as contract } from '@switchyard/contracts';
import { defineService } from '@switchyard/service-kit';

/** Serves the methods of its contract that have a handler here. */
export const ${code} = defineService({
  contract,
  version: '${VERSION}',
  settings: [],

  setup() {
    return {};
  },
});
`,
    [`${service}/src/${name}.test.ts`]: `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testService } from '@switchyard/testkit';
import { ${code} } from './service.ts';

test('starts and reports readiness', async () => {
  await using app = await testService(${code});
  assert.equal(app.host.health.readiness().dependencies['${name}']?.ready, true);
});
`,
  };
}

function firstMethod(service: string, names: ServiceNames): Record<string, string> {
  const contract = `libs/contracts/src/${names.name}`;
  return {
    [`${contract}/contract.ts`]: contractFile(names),
    [`${contract}/${names.name}.ts`]: methodsFile(names),
    [`${service}/README.md`]: readme(names),
    [`${service}/src/data.ts`]: dataFile(names),
    [`${service}/src/service.ts`]: serviceFile(names),
    [`${service}/src/handlers/${names.name}-create.ts`]: handlerFile(names),
    [`${service}/src/${names.name}.test.ts`]: testFile(names),
  };
}

function contractFile({ name, code }: ServiceNames): string {
  return `import { defineContract } from '../definition/define.ts';
import { ${code}Methods } from './${name}.ts';

export const ${code} = defineContract({
  service: '${name}',
  methods: { ...${code}Methods },
  operations: {},
  events: {},
});
`;
}

function methodsFile({ code }: ServiceNames): string {
  return `import { z } from 'zod';
import { Timestamp } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { MAX } from '../values/sizes.ts';

const Name = z.string().min(1).max(MAX.name);
const Text = z.string().max(MAX.text);

export const ${code}Methods = defineMethods({
  '${code}.create': {
    summary: 'Stores a text under a free name.',
    scope: 'rpc',
    beyond: true,
    params: z.strictObject({ name: Name, text: Text }),
    result: z.object({ name: Name, text: Text, createdAt: Timestamp }),
    errors: ['ALREADY_EXISTS'],
    examples: [{ params: { name: 'first', text: 'hello' }, result: { name: 'first', text: 'hello', createdAt: 1763719200000 } }],
  },
});
`;
}

function readme({ name, code }: ServiceNames): string {
  return `# ${name}

Stores texts by name, separately for each tenant.

| Method             | Effect                                 |
| ------------------ | -------------------------------------- |
| \`${code}.create\` | stores a text under a free name        |

## Files

- \`handlers/\`: one file per method
- \`data.ts\`: the stored documents
- [its contract](../../libs/contracts/src/${name}/contract.ts)

${standalone(name)}

## Failures

The service depends on no other service. Callers get UNAVAILABLE while no replica runs.
`;
}

function dataFile({ type }: ServiceNames): string {
  return `import { collection } from '@switchyard/store';
import { z } from 'zod';

/** A text and its name. */
export const ${type}Document = z.object({ name: z.string(), text: z.string(), createdAt: z.int() });
export type ${type}Document = z.infer<typeof ${type}Document>;

export const entryCollection = collection({ name: 'entries', schema: ${type}Document, key: 'name' });
`;
}

function serviceFile({ name, code }: ServiceNames): string {
  return `import { ${code} as contract } from '@switchyard/contracts';
import { defineService } from '@switchyard/service-kit';
import { entryCollection } from './data.ts';
import { ${code}Create } from './handlers/${name}-create.ts';

/** Stores texts by name. */
export const ${code} = defineService({
  contract,
  version: '${VERSION}',
  settings: [],

  async setup({ store }) {
    const { entries } = await store.open({ entries: entryCollection });
    return {
      '${code}.create': ${code}Create(entries, store),
    };
  },
});
`;
}

function handlerFile({ code, type }: ServiceNames): string {
  return `import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { Collection, Store } from '@switchyard/store';
import type { ${type}Document } from '../data.ts';

/** Stores a text under a free name. Of two concurrent calls with one name, one succeeds. */
export function ${code}Create(entries: Collection<${type}Document>, store: Store): Handler<'${code}.create'> {
  return async ({ name, text }, ctx) =>
    entries
      .for(ctx.principal)
      .insert({ name, text, createdAt: store.now() })
      .catch((error: unknown) => {
        if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
        throw new ServiceError('ALREADY_EXISTS', \`The name \${name} is taken; choose another one.\`);
      });
}
`;
}

function testFile({ name, code }: ServiceNames): string {
  return `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal, tempDir, testService } from '@switchyard/testkit';
import { ${code} } from './service.ts';

test('rejects a name that exists in the tenant, also after a restart', async () => {
  await using data = await tempDir();
  {
    await using app = await testService(${code}, { data: data.path });
    const { createdAt, ...made } = await app.bus.call('${code}.create', { name: 'first', text: 'hello' });
    assert.deepEqual(made, { name: 'first', text: 'hello' });
    assert.ok(createdAt > 0);
    const elsewhere = app.bus.as(principal({ tenant: 'elsewhere' }));
    assert.equal((await elsewhere.call('${code}.create', { name: 'first', text: 'theirs' })).text, 'theirs');
  }
  await using again = await testService(${code}, { data: data.path });
  await assert.rejects(again.bus.call('${code}.create', { name: 'first', text: 'again' }), { code: 'ALREADY_EXISTS', message: /first/ });
});

test('rejects an empty name', async () => {
  await using app = await testService(${code});
  await assert.rejects(app.bus.call('${code}.create', { name: '', text: 'hello' }), { code: 'INVALID_ARGUMENT', message: /name/ });
});

test('reports readiness', async () => {
  await using app = await testService(${code});
  assert.equal(app.host.health.readiness().dependencies['${name}']?.ready, true);
});
`;
}
