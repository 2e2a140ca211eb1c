import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { createDocumentParser, type ParseOptions } from './parser-process.ts';
import { runChild } from './child-run.ts';
import { buildParserCommand, detectIsolation, type Isolation } from './sandbox.ts';

const TIMEOUT = { timeout: 120_000 };
const OPTIONS: ParseOptions = {
  tenant: 'default',
  signal: new AbortController().signal,
  timeoutMs: 20_000,
  mode: 'document',
  maxChars: 10_000,
  maxPages: 20,
  allowedTypes: ['text/plain', 'text/html', 'application/json'],
};

/** Processes whose parent is this process and whose command line has the name of the parser. */
function listParsers(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const [, parent = ''] = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
        return Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('parser-main.ts');
      } catch {
        return false; // it has ended
      }
    })
    .map(Number);
}

function createParser() {
  const warnings: object[] = [];
  return { warnings, parser: createDocumentParser({ warn: (fields) => void warnings.push(fields) }) };
}

test(
  'a killed parser fails its own job, and the next one works',
  { ...TIMEOUT, skip: process.platform !== 'linux' && 'needs /proc' },
  async () => {
    const { parser, warnings } = createParser();
    // Elements nested this deep keep the parser busy until it is killed.
    const slow = parser.parse(Buffer.from(`<html><body>${'<div><p>x'.repeat(200_000)}</body></html>`), OPTIONS).then(
      () => assert.fail('it was killed'),
      (error: ServiceError) => error,
    );
    let pids: number[] = [];
    while ((pids = listParsers()).length === 0) await new Promise((resolve) => setImmediate(resolve));
    process.kill(pids[0] ?? 0, 'SIGKILL');
    assert.equal((await slow).details.reason, 'DOCUMENT_TOO_COMPLEX');
    assert.equal(warnings.length, 1);
    assert.equal((await parser.parse(Buffer.from('words'), OPTIONS)).text, 'words');
    assert.deepEqual(listParsers(), []);
  },
);

test('ends a parser after its time, and with its caller', TIMEOUT, async () => {
  const { parser } = createParser();
  const page = Buffer.from(`<html><body>${'<div><p>x'.repeat(200_000)}</body></html>`);
  await assert.rejects(
    parser.parse(page, { ...OPTIONS, timeoutMs: 50 }),
    (error: ServiceError) => error.details.reason === 'DOCUMENT_TIMEOUT',
  );
  const controller = new AbortController();
  const reason = new ServiceError('CANCELLED', 'the caller left');
  const left = parser.parse(page, { ...OPTIONS, signal: controller.signal });
  setImmediate(() => controller.abort(reason));
  await assert.rejects(left, reason);
});

test('a document that needs more than the memory limit costs its job only', TIMEOUT, async () => {
  const { parser } = createParser();
  const page = Buffer.from(`<html><body>${'<b>'.repeat(3_000_000)}</body></html>`);
  const before = process.memoryUsage().rss;
  const error = await parser.parse(page, OPTIONS).then(
    () => undefined,
    (failure: ServiceError) => failure,
  );
  assert.ok(
    error === undefined || ['DOCUMENT_TOO_COMPLEX', 'DOCUMENT_TIMEOUT', 'DOCUMENT_DAMAGED'].includes(String(error.details.reason)),
    String(error),
  );
  const grown = Math.round((process.memoryUsage().rss - before) / 1_048_576);
  assert.ok(grown < 50 + page.length / 1_048_576, `the service grew by ${grown} MiB`);
  assert.equal((await parser.parse(Buffer.from('words'), OPTIONS)).text, 'words');
});

const ISOLATIONS: Isolation[] = ['bubblewrap', 'namespace', 'none'];

for (const isolation of ISOLATIONS.slice(ISOLATIONS.indexOf(detectIsolation()))) {
  test(`a parser reads no file but its code and reaches no address: ${isolation}`, TIMEOUT, async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const probe = `
    import { readFileSync } from 'node:fs';
    import { connect } from 'node:net';
    const found = [];
    for (const path of ['/etc/passwd', '/proc/1/environ']) { try { readFileSync(path); found.push(path); } catch {} }
    try { (await import('node:child_process')).spawnSync('true').error === undefined && found.push('child'); } catch {}
    if (Object.keys(process.env).some((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name))) found.push('environment');
    const reached = await new Promise((resolve) => connect(${port}, '127.0.0.1').on('connect', () => resolve(true)).on('error', () => resolve(false)));
    if (reached) found.push('network');
    process.stdout.write(JSON.stringify(found));`;
    const { command, args } = buildParserCommand('parser-main.ts', isolation);
    // The same command as for a document, with this code instead of the parser.
    const probed = [...args.slice(0, -1), '--input-type=module', '--eval', probe];
    const run = await runChild({ command, args: probed, input: [], signal: OPTIONS.signal, timeoutMs: 20_000, maxOutputBytes: 10_000 });
    server.close();
    assert.ok('output' in run, JSON.stringify(run));
    const found = JSON.parse(run.output.toString()) as string[];
    assert.deepEqual(found, isolation === 'none' ? ['network'] : [], `isolated by ${isolation}`);
    assert.equal(connections, isolation === 'none' ? 1 : 0);
  });
}

test('runs at most three parsers at once', { ...TIMEOUT, skip: process.platform !== 'linux' && 'needs /proc' }, async () => {
  const { parser } = createParser();
  let most = 0;
  const jobs = Array.from({ length: 6 }, () => parser.parse(Buffer.from('words'), OPTIONS));
  let isDone = false;
  const all = Promise.all(jobs).then(() => (isDone = true));
  while (!isDone) {
    most = Math.max(most, listParsers().length);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await all;
  assert.ok(most >= 1 && most <= 3, `${most} at once`);
});
