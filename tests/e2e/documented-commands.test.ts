import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@switchyard/testkit';
import { findCommands, type DocumentedCommand } from './documented-commands.ts';
import { startEmbedded, type Running } from './embedded.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const FILES = globSync(['*.md', '{docs,services,libs,deploy,tests,bench,scripts}/**/*.md'], {
  cwd: root,
  exclude: ['**/node_modules/**', 'CHANGELOG.md', 'docs/decisions/**'],
});
const documented = FILES.toSorted().flatMap((file) => findCommands(file, readFileSync(root + file, 'utf8')));

/** Commands that this test does not run, with the reason. */
const EXCEPTIONS: readonly (readonly [command: RegExp, reason: string])[] = [
  [/^make (start|test|check|bench)\b|make chaos\b/, 'runs in the continuous integration or takes minutes'],
  [/^make cluster(-stop)?\b|^kill -9/, 'needs the processes of a cluster; tests/cluster starts them'],
  [/^make service\b|\bnotes\.create\b/, 'creates a service; tests/new-service runs it'],
  [/^docker compose\b/, 'needs Docker; make test-docker runs it'],
  [
    /^export NATS_STORE|^nats-server\b|deploy\/nats\/provision\.ts|services\/\w+\/src\/main\.ts/,
    'needs NATS; tests/cluster starts these processes',
  ],
  [/^npx @modelcontextprotocol\/inspector\b/, 'downloads a package; make test-mcp runs it'],
  [/^promtool\b/, 'needs Prometheus; tests/monitoring runs it'],
  [/\bbench\/\S*main\.ts\b/, 'takes minutes'],
  [/^OPENAI_API_KEY=… make start|^bin\/switchyard start$/, 'starts a second product'],
];

let folder: Awaited<ReturnType<typeof tempDir>>;
before(async () => {
  folder = await tempDir();
  for (const entry of readdirSync(root)) if (!entry.startsWith('.')) await symlink(root + entry, `${folder.path}/${entry}`);
  await writeFile(`${folder.path}/key.txt`, 'a-key-of-a-provider-for-this-test');
  await writeFile(`${folder.path}/config.yaml`, 'gateway:\n  maxBatchSize: 40\n');
});
after(() => folder[Symbol.asyncDispose]());

/** Runs a command as a user does in the folder of a checkout, except that the server has a free port. */
async function run(product: Running, command: string): Promise<{ code: number | null; output: string }> {
  const env = { PATH: process.env['PATH'], HOME: product.data, SWITCHYARD_DATA: product.data };
  const shell = spawn('sh', ['-c', command.replaceAll('http://127.0.0.1:4766', product.url)], {
    cwd: folder.path,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')]);
  return { code: code as number | null, output: stdout + stderr };
}

/** Replaces the id of a version by one that exists. */
async function replaceVersion(product: Running, command: string): Promise<string> {
  const [, id] = /\bconfig rollback ([0-9a-f]{12})\b/.exec(command) ?? [];
  if (id === undefined) return command;
  const { output } = await run(product, 'bin/switchyard config history -o json');
  const [, version = ''] = /"sha": ?"([0-9a-f]{12})/.exec(output) ?? [];
  return command.replace(id, version);
}

const findException = ({ text: command }: DocumentedCommand) => EXCEPTIONS.find(([pattern]) => pattern.test(command));

/** A turn answers with the message in pieces or as a whole. */
function assertEchoed(output: string): void {
  const streamed = [...output.matchAll(/"(?:delta|content)":"([^"]*)"/g)].map(([, part]) => part).join('');
  assert.match(streamed + output, /You said: hello/, output);
}

const isTurn = (command: string): boolean => /\bhello\b/.test(command) && /\bask\b|agent\.execute|\/v1\/|chat\/stream/.test(command);

/** Other programs may change the checkout, so that they need an exception. */
const RUNNABLE = /^(?:bin\/switchyard|curl|PATH="node_modules\/\.bin:\$PATH" node -e) /;

const runnable = documented.filter((command) => RUNNABLE.test(command.text) && findException(command) === undefined);
for (const [file, commands] of Map.groupBy(runnable, ({ place }) => place.split(':')[0] ?? '')) {
  test(`the commands of ${file} work in their order`, async (t) => {
    // A documented command sets the rate limit, which no variable may set then.
    await using product = await startEmbedded({ env: { SWITCHYARD_GATEWAY__RATE_LIMIT__MAX_REQUESTS: '' } });
    for (const { place, text: command } of commands) {
      await t.test(`${place} ${command.split('\n')[0]}`, async () => {
        const { code, output } = await run(product, await replaceVersion(product, command));
        assert.equal(code, 0, output);
        assert.doesNotMatch(output, /"error":/, 'curl succeeds whatever the status is');
        if (isTurn(command)) assertEchoed(output);
      });
    }
  });
}

test('each documented command is run or has an exception', () => {
  const others = documented.filter((command) => !runnable.includes(command) && findException(command) === undefined);
  assert.deepEqual(others, []);
});

test('each exception is of a documented command', () => {
  for (const [pattern] of EXCEPTIONS)
    assert.ok(
      documented.some(({ text: command }) => pattern.test(command)),
      String(pattern),
    );
  assert.ok(documented.length > 60, `${documented.length} commands`);
});

test('the README shows five ways to send a turn', () => {
  const [, chapter = ''] = /^## A first turn, five ways$([^]*?)^## /m.exec(readFileSync(`${root}README.md`, 'utf8')) ?? [];
  assert.equal(findCommands('README.md', chapter).length, 5);
});

test('the commands of the banner work', async () => {
  await using product = await startEmbedded();
  const [, lines = ''] = /^Try:\n([^]*)/m.exec(product.process.output()) ?? [];
  const commands = lines.split('\n').filter((line) => line.trim() !== '');
  assert.equal(commands.length, 3);
  for (const command of commands) assert.equal((await run(product, command)).code, 0, command);
});
