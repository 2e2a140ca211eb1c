// The commands of the documentation: lines of shell blocks in Markdown files.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@switchyard/testkit';
import { startEmbedded, type Running } from './embedded.ts';

type TempDir = Awaited<ReturnType<typeof tempDir>>;

/** A command of the documentation. */
export interface DocumentedCommand {
  /** The file and the line, such as `README.md:12`. */
  place: string;
  text: string;
}

const SHELL_BLOCK = /^```(sh|bash|shell|console)\n([^]*?)^```$/gm;

/** Finds the commands of a Markdown file. In a `console` block only lines with a prompt are commands. */
export function findCommands(file: string, markdown: string): DocumentedCommand[] {
  return [...markdown.matchAll(SHELL_BLOCK)].flatMap((block) => {
    const [, language, body = ''] = block;
    const firstLine = markdown.slice(0, block.index).split('\n').length + 1;
    const lines = body.split('\n').map((line) => (language === 'console' ? (/^\$ (.*)/.exec(line)?.[1] ?? '') : line));
    return joinLines(lines).map(({ index, text }) => ({ place: `${file}:${firstLine + index}`, text }));
  });
}

/** Joins the lines of a command that continues after a backslash or within quotes. */
function joinLines(lines: readonly string[]): { index: number; text: string }[] {
  const commands: { index: number; text: string }[] = [];
  let open: { index: number; text: string } | undefined;
  for (const [index, line] of lines.entries()) {
    if (open === undefined && (line.trim() === '' || line.startsWith('#'))) continue;
    open = open === undefined ? { index, text: line } : { ...open, text: `${open.text}\n${line}` };
    if (line.endsWith('\\') || countQuotes(open.text) % 2 === 1) continue;
    commands.push(open);
    open = undefined;
  }
  return commands;
}

/** Counts the single quotes of a command. Its comments contain none. */
function countQuotes(text: string): number {
  return text.split("'").length - 1;
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const FILES = globSync(['*.md', '{docs,services,libs,deploy,tests,bench,scripts}/**/*.md'], {
  cwd: root,
  exclude: ['**/node_modules/**', 'CHANGELOG.md', 'docs/decisions/**'],
});
/** All documented commands. */
export const documented = FILES.toSorted().flatMap((file) => findCommands(file, readFileSync(root + file, 'utf8')));

/** Commands that the tests do not run, with the reason. */
export const EXCEPTIONS: readonly (readonly [command: RegExp, reason: string])[] = [
  [/^make (start|test|check|bench)\b|make chaos\b/, 'runs in the continuous integration or takes minutes'],
  [/^make cluster(-stop)?\b|^kill -9/, 'needs the processes of a cluster; tests/cluster starts them'],
  [/^make service\b|\bnotes\.create\b/, 'creates a service; tests/new-service runs it'],
  [
    /^(\.switchyard\/kube\/bin\/)?(helm|kubectl)\b|^make kube(-stop|-test)?\b/,
    'needs a Kubernetes cluster; make helm-test renders the charts',
  ],
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

/** Runs a command as a user does in the folder of a checkout, except that the server has a free port. */
export async function runDocumented(product: Running, folder: string, command: string): Promise<{ code: number | null; output: string }> {
  const env = { PATH: process.env['PATH'], HOME: product.data, SWITCHYARD_DATA: product.data };
  const shell = spawn('sh', ['-c', command.replaceAll('http://127.0.0.1:4766', product.url)], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')]);
  return { code: code as number | null, output: stdout + stderr };
}

/** Replaces the id of a version by one that exists. */
async function replaceVersion(product: Running, folder: string, command: string): Promise<string> {
  const [, id] = /\bconfig rollback ([0-9a-f]{12})\b/.exec(command) ?? [];
  if (id === undefined) return command;
  const { output } = await runDocumented(product, folder, 'bin/switchyard config history -o json');
  const [, version = ''] = /"sha": ?"([0-9a-f]{12})/.exec(output) ?? [];
  return command.replace(id, version);
}

export const findException = ({ text: command }: DocumentedCommand) => EXCEPTIONS.find(([pattern]) => pattern.test(command));

/** A turn answers with the message in pieces or as a whole. */
function assertEchoed(output: string): void {
  const streamed = [...output.matchAll(/"(?:delta|content)":"([^"]*)"/g)].map(([, part]) => part).join('');
  assert.match(streamed + output, /You said: hello/, output);
}

const isTurn = (command: string): boolean => /\bhello\b/.test(command) && /\bask\b|agent\.execute|\/v1\/|chat\/stream/.test(command);

/** Other programs may change the checkout, so that they need an exception. */
const RUNNABLE = /^(?:bin\/switchyard|curl|PATH="node_modules\/\.bin:\$PATH" node -e) /;

/** The commands that the tests run. */
export const runnable = documented.filter((command) => RUNNABLE.test(command.text) && findException(command) === undefined);

/** A folder that looks like a checkout, with the files that documented commands read. */
export async function createCheckout(): Promise<TempDir> {
  const folder = await tempDir();
  for (const entry of readdirSync(root)) if (!entry.startsWith('.')) await symlink(root + entry, `${folder.path}/${entry}`);
  await writeFile(`${folder.path}/key.txt`, 'a-key-of-a-provider-for-this-test');
  await writeFile(`${folder.path}/config.yaml`, 'gateway:\n  maxBatchSize: 40\n');
  return folder;
}

/** Declares a test for each file whose commands are run, in their order, on a product of its own. */
export function testCommandsOf(isIncluded: (file: string) => boolean): void {
  for (const [file, commands] of Map.groupBy(runnable, getFile)) {
    if (!isIncluded(file)) continue;
    test(`the commands of ${file} work in their order`, async (t) => {
      await using folder = await createCheckout();
      // A documented command sets the rate limit, which no variable may set then.
      await using product = await startEmbedded({ env: { SWITCHYARD_GATEWAY__RATE_LIMIT__MAX_REQUESTS: '' } });
      for (const { place, text: command } of commands) {
        await t.test(`${place} ${command.split('\n')[0]}`, async () => {
          const { code, output } = await runDocumented(product, folder.path, await replaceVersion(product, folder.path, command));
          assert.equal(code, 0, output);
          assert.doesNotMatch(output, /"error":/, 'curl succeeds whatever the status is');
          if (isTurn(command)) assertEchoed(output);
        });
      }
    });
  }
}

function getFile({ place }: DocumentedCommand): string {
  return place.split(':')[0] ?? '';
}
