import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeWav } from '@switchyard/models';
import { principal, startMediaUpstream } from '@switchyard/testkit';
import { testMedia } from '../media.fixture.ts';

const TIMEOUT = { timeout: 60_000 };
const audio = Buffer.from(encodeWav(new Int16Array(800), 8_000)).toString('base64');

test('a caller that leaves does not end the question of another', TIMEOUT, async () => {
  await using upstream = await startMediaUpstream({ transcript: 'Nine.' });
  await using app = await testMedia({ env: { OPENAI_BASE_URL: `${upstream.origin}/v1` } });
  upstream.respond({ kind: 'stall' });
  const first = new AbortController();
  const left = app.bus.call('audio.transcribe', { audio }, { signal: first.signal });
  left.catch(() => undefined);
  await upstream.nextRequest();
  const second = app.bus.call('audio.transcribe', { audio });
  // The second call waits for the first one. A call behind it proves that the service has it.
  await app.bus.call('media.providers', {});
  upstream.respond({ kind: 'whole' });
  first.abort();
  await assert.rejects(left);
  const result = await second;
  assert.equal('text' in result ? result.text : result.error, 'Nine.');
  assert.equal(upstream.requests.length, 2);
});

test('calls at once with the same bytes ask a provider once, and those of another tenant ask again', TIMEOUT, async () => {
  await using upstream = await startMediaUpstream({ transcript: 'Nine.' });
  await using app = await testMedia({ env: { OPENAI_BASE_URL: `${upstream.origin}/v1` } });
  await Promise.all(Array.from({ length: 5 }, () => app.bus.call('audio.transcribe', { audio })));
  assert.equal(upstream.requests.length, 1);
  await app.bus.as(principal({ tenant: 'other' })).call('audio.transcribe', { audio });
  assert.equal(upstream.requests.length, 2);
});

test('other bytes of the same length ask a provider again', TIMEOUT, async () => {
  await using upstream = await startMediaUpstream({ transcript: 'Nine.' });
  await using app = await testMedia({ env: { OPENAI_BASE_URL: `${upstream.origin}/v1` } });
  const other = Buffer.from(encodeWav(new Int16Array(800).fill(1), 8_000)).toString('base64');
  for (const bytes of [audio, other, audio]) await app.bus.call('audio.transcribe', { audio: bytes });
  assert.equal(upstream.requests.length, 2);
});
