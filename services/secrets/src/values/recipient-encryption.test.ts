// own process: hides a value so long that other tests of the process could not log
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Result } from '@switchyard/contracts';
import { createSecretReader } from '@switchyard/service-kit';
import { ENV, resolve, start } from '../secrets.fixture.ts';

const TIMEOUT = { timeout: 30_000 };
const CANARY = 'canary-1b6ad0c2-sealed-to-one';
const env = { SWITCHYARD_TOKEN: ENV, OPENAI_API_KEY: CANARY, OTHER_API_KEY: 'another value altogether' };

test('no message on the bus contains the value of a resolved secret', TIMEOUT, async () => {
  await using app = await start({ env });
  const messages: string[] = [];
  const tap = await app.host.connect('observability');
  tap.subscribe('>', ({ subject, data }) => void messages.push(`${subject} ${Buffer.from(data).toString()}`));
  assert.equal(await resolve(app, 'OPENAI_API_KEY'), CANARY);
  await app.nextEvent('secret:accessed');
  assert.ok(messages.some((line) => line.includes('svc.secrets.secrets.resolve')));
  assert.ok(messages.some((line) => line.includes('"value":"eyJ')));
  for (const form of [CANARY, Buffer.from(CANARY).toString('base64url').slice(0, 30)]) assert.ok(!messages.join('\n').includes(form));
});

test('a recorded answer is rejected by another process, in a later request and for another name', TIMEOUT, async () => {
  await using app = await start({ env });
  const sessions = await app.host.connect('sessions');
  const captured: Result<'secrets.resolve'>[] = [];
  const answer: { replayed?: Result<'secrets.resolve'> } = {};
  const through = {
    async call(...args: Parameters<typeof sessions.call>) {
      const real = (await sessions.call(...args)) as Result<'secrets.resolve'>;
      captured.push(real);
      return answer.replayed ?? real;
    },
  } as Pick<typeof sessions, 'call'>;
  const reader = createSecretReader(through, 'sessions');
  const read = (name: string) => reader(name, undefined, 'provider');
  assert.equal(await read('OPENAI_API_KEY'), CANARY);
  answer.replayed = captured[0] ?? assert.fail();
  const refused = { code: 'DATA_LOSS', details: { reason: 'NOT_SEALED' } };
  await assert.rejects(read('OPENAI_API_KEY'), refused, 'a later request of the same process');
  await assert.rejects(createSecretReader(through, 'sessions')('OPENAI_API_KEY', undefined, 'provider'), refused, 'another process');
  await assert.rejects(read('OTHER_API_KEY'), refused, 'another name');
  answer.replayed = { value: CANARY };
  await assert.rejects(read('OPENAI_API_KEY'), refused, 'clear text');
  delete answer.replayed;
  assert.equal(await read('OPENAI_API_KEY'), CANARY);
});

test('rejects an answer for another service, key or nonce, and a request with a low-order key', TIMEOUT, async () => {
  await using app = await start({ env });
  const sessions = await app.host.connect('sessions');
  const changes: Record<string, string> = { service: 'registry', nonce: 'another-nonce-of-22-chars' };
  for (const [field, value] of Object.entries(changes)) {
    const changed = {
      call: (method: 'secrets.resolve', params: { name: string; to: object }) =>
        sessions.call(method, { ...params, to: { ...params.to, [field]: value } } as never),
    } as unknown as Pick<typeof sessions, 'call'>;
    await assert.rejects(createSecretReader(changed, 'sessions')('OPENAI_API_KEY', undefined, 'provider'), { code: 'DATA_LOSS' }, field);
  }
  for (const key of ['A'.repeat(43), `AQ${'A'.repeat(41)}`]) {
    const to = { service: 'sessions' as const, key, nonce: 'n'.repeat(22) };
    await assert.rejects(sessions.call('secrets.resolve', { name: 'OPENAI_API_KEY', purpose: 'provider', to }), {
      code: 'INVALID_ARGUMENT',
      message: /to\.key/,
    });
  }
});

test('resolves a value of the maximum length', TIMEOUT, async () => {
  const value = '\uffff'.repeat(8_192);
  await using app = await start({ env: { ...env, LONG_API_KEY: value } });
  assert.equal(await resolve(app, 'LONG_API_KEY'), value);
});
