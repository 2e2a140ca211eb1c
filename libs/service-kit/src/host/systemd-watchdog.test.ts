import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { Configuration } from '@switchyard/contracts';
import { tempDir } from '@switchyard/testkit';
import { feedWatchdog } from './systemd-watchdog.ts';

/** Counts the notifications within ten seconds. */
function toldWithin(t: TestContext, env: Record<string, string>, watchdogIntervalMs?: number): string[] {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const words: string[] = [];
  const settings = { current: Configuration.parse({ daemon: watchdogIntervalMs === undefined ? {} : { watchdogIntervalMs } }) };
  const log = { warn: () => undefined };
  {
    using _fed = feedWatchdog({ env, settings, log, tell: (word) => void words.push(word) });
    for (let second = 0; second < 10; second++) t.mock.timers.tick(1_000);
  }
  t.mock.timers.tick(60_000);
  t.mock.timers.reset();
  return words;
}

test('notifies at the configured interval, at least twice within the timeout, and only with NOTIFY_SOCKET', (t) => {
  const NOTIFY_SOCKET = '/run/systemd/notify';
  assert.deepEqual(toldWithin(t, { NOTIFY_SOCKET }), ['WATCHDOG=1']);
  assert.equal(toldWithin(t, { NOTIFY_SOCKET }, 2_000).length, 6);
  assert.equal(toldWithin(t, { NOTIFY_SOCKET, WATCHDOG_USEC: '2000000' }).length, 11);
  assert.deepEqual(toldWithin(t, { NOTIFY_SOCKET }, 0), []);
  assert.deepEqual(toldWithin(t, {}), []);
});

test('logs a failed notification once', () => {
  const warned: unknown[] = [];
  const settings = { current: Configuration.parse({}) };
  const fail: Parameters<typeof feedWatchdog>[0]['tell'] = (_, onFailure) => {
    for (let n = 0; n < 3; n++) onFailure(new Error('ENOENT'));
  };
  using _fed = feedWatchdog({
    env: { NOTIFY_SOCKET: '/n' },
    settings,
    log: { warn: (fields: unknown) => void warned.push(fields) },
    tell: fail,
  });
  assert.equal(warned.length, 1);
});

test('notifies through systemd-notify and logs when it is missing', async () => {
  await using dir = await tempDir();
  const message = Promise.withResolvers<void>();
  const env = { NOTIFY_SOCKET: '/run/of/a/test', PATH: dir.path };
  const settings = { current: Configuration.parse({ daemon: { watchdogIntervalMs: 5 } }) };
  const warned: string[] = [];
  const log = { warn: (_: unknown, text?: string) => (warned.push(text ?? ''), message.resolve()) };
  {
    using _missing = feedWatchdog({ env, settings, log });
    await message.promise;
  }
  writeFileSync(`${dir.path}/systemd-notify`, `#!/bin/sh\necho "$1 $NOTIFY_SOCKET" >> '${dir.path}/said'\n`);
  chmodSync(`${dir.path}/systemd-notify`, 0o700);
  {
    using _fed = feedWatchdog({ env, settings, log });
    const words = (): string => {
      try {
        return readFileSync(`${dir.path}/said`, 'utf8');
      } catch {
        return '';
      }
    };
    while (words().split('\n').length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.match(words(), /^WATCHDOG=1 \/run\/of\/a\/test\nWATCHDOG=1 /);
  }
  assert.equal(warned.length, 1);
});
