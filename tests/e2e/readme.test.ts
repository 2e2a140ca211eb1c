import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startEmbedded, type Running } from './embedded.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(`${root}README.md`, 'utf8');
const [, chapter = ''] = /^## A first turn, five ways$([^]*?)^## /m.exec(readme) ?? [];
const blocks = [...chapter.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = '']) => block);

let product: Running;
before(async () => void (product = await startEmbedded()));
after(() => product[Symbol.asyncDispose]());

/** Runs a block of the README in its folder, with a server on a free port. */
async function paste(block: string): Promise<{ code: number | null; output: string }> {
  const env = { PATH: process.env['PATH'], HOME: product.data, SWITCHYARD_DATA: product.data };
  const shell = spawn('sh', ['-c', block], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')]);
  return { code: code as number | null, output: stdout + stderr };
}

test('the README shows five ways to send a turn', () => {
  assert.equal(blocks.length, 5);
});

for (const block of blocks) {
  test(`it answers: ${block.split('\n')[0] ?? ''}`, async () => {
    const { code, output } = await paste(block);
    assert.equal(code, 0, output);
    const said = [...output.matchAll(/"(?:delta|content)":"([^"]*)"/g)].map(([, part]) => part).join('');
    assert.match(said + output, /You said: hello/, output);
  });
}

test('the README’s command creates a lenient token', async () => {
  const [, command = ''] = /^```sh\n(.*lenient=true)\n```$/m.exec(readme) ?? [];
  const { code, output } = await paste(command);
  assert.equal(code, 0, output);
  assert.match(output, /sy_pat_/);
});

test('the commands of the banner work', async () => {
  const [, lines = ''] = /^Try:\n([^]*)/m.exec(product.process.output()) ?? [];
  const commands = lines.split('\n').filter((line) => line.trim() !== '');
  assert.equal(commands.length, 3);
  for (const command of commands) assert.equal((await paste(command)).code, 0, command);
});
