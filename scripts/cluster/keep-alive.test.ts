import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { keepAlive, type Ended, type KeptAlive } from './keep-alive.ts';

const GRACE_MS = 10_000;

interface Kept extends AsyncDisposable {
  process: KeptAlive;
  ended: Ended[];
  log: string;
  /** Resolves after this many starts. */
  started(times: number): Promise<void>;
}

/** Supervises a small program. */
function keep(dir: string, program: string): Kept {
  const ended: Ended[] = [];
  const waiting: [times: number, resolve: () => void][] = [];
  const log = `${dir}/out.log`;
  let starts = 0;
  const process_ = keepAlive(
    { service: 's', replica: 's-1', command: [process.execPath, '-e', program], env: {}, ports: {} },
    {
      log,
      firstWaitMs: 10,
      onStart() {
        starts++;
        for (const [times, resolve] of waiting) if (starts >= times) resolve();
      },
      onEnd: (one) => void ended.push(one),
    },
  );
  return {
    process: process_,
    ended,
    log,
    started: (times) => new Promise((resolve) => void (starts >= times ? resolve() : waiting.push([times, resolve]))),
    async [Symbol.asyncDispose]() {
      await process_.end(GRACE_MS);
    },
  };
}

test('restarts a process that ends, doubles the delay, and writes its output to a file with mode 0600', async () => {
  await using dir = await tempDir();
  await using kept = keep(dir.path, 'console.log("here"); process.exitCode = 3');
  await kept.started(4);
  assert.deepEqual(
    kept.ended.map(({ how, code, againInMs, logFrom }) => [how, code, againInMs, logFrom]),
    [10, 20, 40].map((ms, run) => ['ended with code 3', 3, ms, run * 'here\n'.length]),
  );
  assert.match(readFileSync(kept.log, 'utf8'), /^(here\n){3}/);
  assert.equal(statSync(kept.log).mode & 0o777, 0o600);
});

test('restarts a killed process with a new pid', async () => {
  await using dir = await tempDir();
  await using kept = keep(dir.path, 'setInterval(() => {}, 1000)');
  await kept.started(1);
  const before = kept.process.pid() ?? assert.fail('it has no process id');
  process.kill(before, 'SIGKILL');
  await kept.started(2);
  assert.notEqual(kept.process.pid(), before);
  assert.deepEqual(
    kept.ended.map(({ how, pid }) => [how, pid]),
    [['was ended by SIGKILL', before]],
  );
});

test('end lets the process finish and does not restart it', async () => {
  await using dir = await tempDir();
  const kept = keep(
    dir.path,
    'process.on("SIGTERM", () => { console.log("finished"); process.exit(0) }); setInterval(() => {}, 1000); console.log("up")',
  );
  await kept.started(1);
  while (!readFileSync(kept.log, 'utf8').includes('up')) await new Promise(setImmediate);
  assert.deepEqual(await kept.process.end(GRACE_MS), { forced: false });
  assert.match(readFileSync(kept.log, 'utf8'), /finished\n$/);
  assert.deepEqual(kept.ended, []);
});

test('end kills a process that exceeds the grace period', async () => {
  await using dir = await tempDir();
  const kept = keep(dir.path, 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("up")');
  await kept.started(1);
  while (!readFileSync(kept.log, 'utf8').includes('up')) await new Promise(setImmediate);
  assert.deepEqual(await kept.process.end(50), { forced: true });
});

test('retries a program that does not exist, and end does not wait for the next retry', async () => {
  await using dir = await tempDir();
  const told = Promise.withResolvers<Ended>();
  const member = { service: 's', replica: 's-1', command: [`${dir.path}/none`], env: {}, ports: {} };
  const kept = keepAlive(member, { log: `${dir.path}/out.log`, firstWaitMs: 60_000, onStart: () => assert.fail(), onEnd: told.resolve });
  assert.match((await told.promise).how, /^cannot be run \(.*ENOENT/);
  await kept.end(GRACE_MS);
});
