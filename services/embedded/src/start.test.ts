import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startProcess, tempDir } from '@switchyard/testkit';

/**
 * The packages that a start loads. Drivers of databases, brokers and providers, and telemetry exporters are imported on first use,
 * because every loaded package costs start time and memory.
 */
const PACKAGES = ['@opentelemetry/api', 'close-with-grace', 'croner', 'fastify', 'ipaddr.js', 'lru-cache', 'pino', 'ws', 'zod'];

/** Records at exit which packages and Node modules were loaded. */
const WITNESS = `
  import { writeFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  const packages = new Set();
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const name = /\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url)?.[1];
      if (name !== undefined && !context.parentURL?.includes('/node_modules/')) packages.add(name);
      return found;
    },
  });
  process.on('exit', () => {
    const builtin = process.moduleLoadList.map((name) => name.replace('NativeModule ', ''));
    writeFileSync(process.env.WITNESSED, JSON.stringify({ packages: [...packages].toSorted(), builtin }));
  });
`;

test('a start loads only the packages that it needs', async () => {
  await using data = await tempDir();
  const witnessed = join(data.path, 'witnessed.json');
  const preload = `data:text/javascript,${encodeURIComponent(WITNESS)}`;
  const env = { WITNESSED: witnessed, HOME: data.path, SWITCHYARD_DATA: data.path, SWITCHYARD_CONFIG: ':', SWITCHYARD_PORT: '0' };
  const command = [process.execPath, '--import', preload, join(import.meta.dirname, 'main.ts')];
  await using child = await startProcess(command, { env, ready: /^Try:/m });
  assert.equal((await child.end()).code, 0, child.output());
  const { packages, builtin } = JSON.parse(readFileSync(witnessed, 'utf8')) as { packages: string[]; builtin: string[] };
  assert.deepEqual(packages, PACKAGES);
  assert.ok(builtin.includes('http'));
  assert.ok(
    !builtin.includes('internal/deps/undici/undici'),
    'an import of node:http, a fetch or a WebSocket loads the client of Node: see service-kit/src/health/http.ts',
  );
});
