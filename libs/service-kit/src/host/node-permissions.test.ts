import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { tempDir } from '@switchyard/testkit';
import { readEnvironment } from './environment.ts';
import { permissionFlags } from './node-permissions.ts';
import { openSettings } from '../settings/configuration-source.ts';

/** Starts a process with the configured flags; it prints for each path whether it can be read and written, and exits. */
const PROGRAM = `
import { readFileSync, writeFileSync } from 'node:fs';
import { silentLogger } from ${JSON.stringify(import.meta.resolve('@switchyard/telemetry'))};
import { openHost } from ${JSON.stringify(import.meta.resolve('./host.ts'))};
import { startAgainWith } from ${JSON.stringify(import.meta.resolve('./node-permissions.ts'))};
const host = await openHost({ env: process.env, log: silentLogger(), restrict: startAgainWith });
const may = (work) => {
  try {
    return (work(), true);
  } catch (error) {
    if (error.code === 'ERR_ACCESS_DENIED') return false;
    throw error;
  }
};
const said = process.argv.slice(2).map((path) => [may(() => readFileSync(path)), may(() => writeFileSync(path, 'x'))]);
process.stdout.write(JSON.stringify(said));
await host[Symbol.asyncDispose]();`;
const ON = { SWITCHYARD_SECURITY__PERMISSION__ENABLE_NODE_PERMISSIONS: 'true' };

async function getFlags(env: Record<string, string>, has = false): Promise<string[] | undefined> {
  const environment = await readEnvironment({ SWITCHYARD_CONFIG: ':', ...env });
  await using settings = await openSettings(environment);
  return permissionFlags(environment, settings, has);
}

test('a restricted process accesses only its data, configured files and allowed paths', async () => {
  await using dir = await tempDir();
  const at = (name: string): string => join(dir.path, name);
  for (const name of ['allowed', 'elsewhere', 'data']) mkdirSync(at(name));
  const files = ['data/own', 'allowed/one', 'elsewhere/named', 'elsewhere/other'].map(at);
  for (const file of files) writeFileSync(file, 'x');
  writeFileSync(at('c.yaml'), `security:\n  permission:\n    enableNodePermissions: true\n    allowedFsPaths: [${at('allowed')}]\n`);
  symlinkSync(at('elsewhere/other'), at('data/link'));
  const env = {
    PATH: process.env['PATH'],
    SWITCHYARD_CONFIG: at('c.yaml'),
    SWITCHYARD_DATA: at('data'),
    A_KEY_FILE: at('elsewhere/named'),
  };
  writeFileSync(at('data/program.mjs'), PROGRAM);
  const { stdout } = await promisify(execFile)(process.execPath, [at('data/program.mjs'), ...files], { env });
  assert.deepEqual(JSON.parse(stdout), [
    [true, true],
    [true, true],
    [true, false],
    [false, false],
  ]);
});

test('returns no flags without the setting or in a restricted process', async () => {
  assert.equal(await getFlags({}), undefined);
  assert.equal(await getFlags(ON, true), undefined);
});

test('allows configured directories outside the data directory', async () => {
  await using dir = await tempDir();
  const at = (name: string): string => join(dir.path, name);
  const flags = await getFlags({
    ...ON,
    SWITCHYARD_DATA: at('data'),
    SWITCHYARD_STORE: `sqlite:${at('store')}`,
    SWITCHYARD_BLOBS: `file:${at('blobs')}`,
    SWITCHYARD_DAEMON__LOGGING__FILE_PATH: at('logs/daemon.log'),
    SWITCHYARD_SECURITY__SECRETS__DB_PATH: at('secrets/safe.db'),
    SWITCHYARD_GATEWAY__WEB__PATH: at('dashboard'),
  });
  const written = ['data', 'store', 'blobs', 'logs', 'secrets'].map((name) => `--allow-fs-write=${at(name)}`);
  assert.deepEqual(
    flags?.filter((flag) => flag.startsWith('--allow-fs-write')),
    written,
  );
  for (const name of ['data', 'store', 'blobs', 'logs', 'secrets', 'dashboard'])
    assert.ok(flags?.includes(`--allow-fs-read=${at(name)}`), name);
  assert.ok(!flags?.includes('--allow-child-process'));
});

test('rejects node permissions together with the systemd watchdog', async () => {
  await assert.rejects(
    getFlags({ ...ON, NOTIFY_SOCKET: '/run/x', WATCHDOG_USEC: '1' }),
    /watchdog needs systemd-notify\. Remove WatchdogSec/,
  );
});
