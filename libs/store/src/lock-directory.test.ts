import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { lockDirectory } from './index.ts';

const root = mkdtempSync(join(tmpdir(), 'lock-'));
after(() => rmSync(root, { recursive: true, force: true }));

async function holdElsewhere(dir: string) {
  const program = `
    const { lockDirectory } = await import(${JSON.stringify(import.meta.resolve('./index.ts'))});
    lockDirectory(${JSON.stringify(dir)});
    process.stdout.write('locked');
    setInterval(() => {}, 60_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

function inUseBy(pid: number | undefined) {
  return (error: unknown) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, 'FAILED_PRECONDITION');
    assert.deepEqual([error.details.reason, error.details.pid], ['DATA_IN_USE', pid]);
    assert.match(error.message, new RegExp(`is in use by process ${pid}; stop it \\(kill ${pid}\\) or choose another directory`));
    return true;
  };
}

test('reports the holder of a locked directory and locks it after the holder exits or is killed', async () => {
  const dir = join(root, 'shared');
  const child = await holdElsewhere(dir);
  assert.throws(() => lockDirectory(dir), inUseBy(child.pid));
  child.kill('SIGKILL');
  await once(child, 'exit');

  const lock = lockDirectory(dir);
  assert.throws(() => lockDirectory(dir), inUseBy(process.pid));
  lock[Symbol.dispose]();
  lock[Symbol.dispose]();
  using again = lockDirectory(dir);
  assert.equal(again.dir, dir);
});

test('locks each directory separately with a private file', () => {
  using one = lockDirectory(join(root, 'one'));
  using two = lockDirectory(join(root, 'two'));
  assert.notEqual(one.dir, two.dir);
  assert.equal(statSync(one.dir).mode & 0o777, 0o700);
  assert.equal(statSync(join(one.dir, 'lock.db')).mode & 0o777, 0o600);
});

test('reports a directory that is not writable without naming a process', () => {
  const dir = join(root, 'damaged');
  mkdirSync(dir);
  writeFileSync(join(dir, 'lock.db'), 'this is no database, but it is long enough to be taken for one'.repeat(20));
  assert.throws(() => lockDirectory(dir), /^ServiceError: cannot write to the data directory .* \(file is not a database\)/);
});

test('fails with one sentence when the directory cannot be created', () => {
  writeFileSync(join(root, 'file'), '');
  assert.throws(() => lockDirectory(join(root, 'file', 'x')), /^ServiceError: cannot write to the data directory .* \(ENOTDIR\)/);
});
