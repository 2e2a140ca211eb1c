import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const root = mkdtempSync(join(tmpdir(), 'child-'));
after(() => rmSync(root, { recursive: true }));

const program = join(root, 'program.mjs');
writeFileSync(
  program,
  `let heard = 0;
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => { heard += 1; console.log(signal, heard); if (heard === 2) process.exit(7); });
  console.log('ready', process.env.GIVEN);
  setInterval(() => {}, 60_000);`,
);

/** Starts a process in its own group that runs `program` through `runChild`. */
function start(file: string) {
  const parent = `
    const { runChild } = await import(${JSON.stringify(import.meta.resolve('./child-process.ts'))});
    process.exitCode = await runChild(${JSON.stringify(file)}, { ...process.env, GIVEN: 'yes' }, 60_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', parent], { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  child.stdout.setEncoding('utf8');
  return child;
}

test('passes the environment, forwards signals and returns the exit code', async () => {
  const child = start(program);
  assert.deepEqual(await once(child.stdout, 'data'), ['ready yes\n']);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child.stdout, 'data'), ['SIGTERM 1\n']);
  child.kill('SIGINT');
  assert.deepEqual(await once(child, 'close'), [7, null]);
});

test('forwards repeated signals once', async () => {
  const child = start(program);
  const receivedMessages: string[] = [];
  const ready = once(child.stdout, 'data');
  await ready;
  child.stdout.on('data', (line: string) => receivedMessages.push(line));
  child.kill('SIGINT');
  await once(child.stdout, 'data');
  process.kill(-(child.pid ?? assert.fail()), 'SIGINT');
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'close'), [7, null]);
  assert.equal(receivedMessages.join(''), 'SIGINT 1\nSIGTERM 2\n');
});

test('returns 128 plus the signal number', async () => {
  const dying = join(root, 'dying.mjs');
  writeFileSync(dying, `process.kill(process.pid, 'SIGKILL');`);
  assert.deepEqual(await once(start(dying), 'close'), [137, null]);
});
