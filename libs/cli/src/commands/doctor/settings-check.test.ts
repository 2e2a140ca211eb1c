import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runCommand, startServer, TOKEN } from '../../command.fixture.ts';

const root = mkdtempSync(join(tmpdir(), 'doctor-settings-'));
after(() => rmSync(root, { recursive: true }));

/** Runs doctor with a response of `gateway.status` and returns its line about settings. */
async function getDoctor(status: () => unknown): Promise<{ code: number | null; line: string }> {
  const data = mkdtempSync(join(root, 'data-'));
  const results: Record<string, () => unknown> = {
    'system.ping': () => ({ pong: true, ts: Date.now() }),
    'models.list_providers': () => ({ providers: ['openai'], count: 1 }),
    'gateway.status': status,
  };
  await using server = await startServer({ call: ({ method }) => results[method]?.() });
  writeFileSync(`${data}/run.json`, JSON.stringify({ url: server.url, processes: [] }));
  writeFileSync(`${data}/token`, TOKEN, { mode: 0o600 });
  const { code, stdout } = await runCommand(['doctor', '--url', server.url], { cwd: root, env: { SWITCHYARD_DATA: data } });
  return { code, line: stdout.split('\n').find((line) => / settings /.test(line)) ?? stdout };
}

test('lists settings without effect as information', async () => {
  const notInForce = [
    { path: 'autoReplyEngine.enabled', from: 'config.yaml' },
    { path: 'tts.voice', from: 'SWITCHYARD_TTS__VOICE' },
  ];
  const { code, line } = await getDoctor(() => ({ notInForce }));
  assert.equal(code, 0, line);
  assert.match(
    line,
    /^· settings .*not used by any service yet: autoReplyEngine\.enabled \(config\.yaml\), tts\.voice \(SWITCHYARD_TTS__VOICE\)$/,
  );
});

test('passes when all settings take effect and is unknown without scope', async () => {
  assert.match((await getDoctor(() => ({ notInForce: [] }))).line, /^✓ settings +all configured settings are in use$/);
  assert.match((await getDoctor(() => ({}))).line, /^· settings /);
  const refusal = { code: -32603, message: 'scope admin is needed', data: { code: 'PERMISSION_DENIED', requestId: 'r', retryable: false } };
  const refused = await getDoctor(() => {
    throw refusal;
  });
  assert.match(refused.line, /^· settings +not known: .*scope admin is needed/);
});
