import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { startMediaUpstream, type MediaReply } from '@switchyard/testkit';
import { createMediaModels, encodeWav, type MediaModels } from '../index.ts';

const TIMEOUT = { timeout: 30_000 };
const KEY = 'a-key-of-this-test-only';
const SPEECH = encodeWav(new Int16Array(2_400), 24_000);
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=', 'base64');
const CALL_TIMEOUT_MS = 15_000;
/** For responses that never come, so that the tests are short. */
const SHORT_TIMEOUT_MS = 250;
const RETRY_DELAY_MS = 90_000;

interface Provider {
  id: string;
  /** Path of the API at the provider's host. */
  path: string;
  /** The header with the key. */
  authorization: readonly [name: string, value: string];
  call: (models: MediaModels, timeoutMs: number) => Promise<unknown>;
  answer: unknown;
}

const { signal } = new AbortController();
const bearer = ['authorization', `Bearer ${KEY}`] as const;

function transcribe(provider: string, modelId: string): Provider['call'] {
  return (models, timeoutMs) =>
    models.transcribe({ model: { provider, modelId }, audio: SPEECH, mimeType: 'audio/wav', signal, timeoutMs });
}

function synthesize(provider: string, modelId: string): Provider['call'] {
  return async (models, timeoutMs) => {
    const request = { model: { provider, modelId }, text: 'Hello.', voice: 'nova', format: 'wav' as const, signal, timeoutMs };
    return (await models.synthesize(request)).audio;
  };
}

function paint(provider: string, modelId: string): Provider['call'] {
  return async (models, timeoutMs) => {
    const request = { model: { provider, modelId }, prompt: 'a yard', width: 64, height: 64, safetyChecker: true, signal, timeoutMs };
    return Buffer.from((await models.generateImage(request)).image);
  };
}

const HEARD = { text: 'Hello.', language: 'en', durationMs: 2_000 };

const PROVIDERS: Readonly<Record<string, Provider>> = {
  'OpenAI, transcription': { id: 'openai', path: '/v1', authorization: bearer, call: transcribe('openai', 'whisper-1'), answer: HEARD },
  'OpenAI, speech': { id: 'openai', path: '/v1', authorization: bearer, call: synthesize('openai', 'tts-1'), answer: SPEECH },
  'OpenAI, images': { id: 'openai', path: '/v1', authorization: bearer, call: paint('openai', 'gpt-image-2.6-flare'), answer: PNG },
  Groq: { id: 'groq', path: '/openai/v1', authorization: bearer, call: transcribe('groq', 'whisper-large-v3-turbo'), answer: HEARD },
  Deepgram: {
    id: 'deepgram',
    path: '',
    authorization: ['authorization', `Token ${KEY}`],
    call: transcribe('deepgram', 'nova-3'),
    answer: HEARD,
  },
  ElevenLabs: {
    id: 'elevenlabs',
    path: '',
    authorization: ['xi-api-key', KEY],
    call: synthesize('elevenlabs', 'eleven_v3'),
    answer: SPEECH,
  },
  fal: { id: 'fal', path: '', authorization: ['authorization', `Key ${KEY}`], call: paint('fal', 'fal-ai/flux/schnell'), answer: PNG },
};

function openModels({ id, path }: Provider, origin: string): MediaModels & AsyncDisposable {
  const entries = { [id]: { type: 'openai-compatible', baseUrl: `${origin}${path}`, apiKeyName: 'THE_KEY' } };
  const settings = { providers: sections.providers.parse({ entries }), security: sections.security.parse({}) };
  return createMediaModels({ settings: () => settings, secret: async (name) => (name === 'THE_KEY' ? KEY : null), env: {} });
}

interface Failure {
  reply: MediaReply;
  code: string;
  reason: string;
  message: RegExp;
  /** By default the call has time enough. */
  timeoutMs?: number;
  /** A sound has no structure that the library could check. */
  skipsSpeech?: boolean;
}

const HTML: MediaReply = { kind: 'body', type: 'text/html', body: '<html>The site is under maintenance.</html>' };
const NOTHING: MediaReply = { kind: 'body', type: 'application/octet-stream', body: '' };
const EMPTY_OBJECT: MediaReply = { kind: 'body', type: 'application/json', body: '{}' };
const HTML_ERROR: MediaReply = { kind: 'status', status: 500, headers: { 'content-type': 'text/html' }, body: '<html>no</html>' };
const status = (code: number, headers = {}): MediaReply => ({
  kind: 'status',
  status: code,
  headers,
  body: `{"error":{"message":"refused ${KEY}","type":"t","code":1}}`,
});
const inFuture = (): string => new Date(Date.now() + RETRY_DELAY_MS).toUTCString();

const FAILURES: Readonly<Record<string, Failure>> = {
  'a cut response': { reply: { kind: 'cut' }, code: 'UNAVAILABLE', reason: 'STREAM_CUT', message: /ended its response before/ },
  'no response': {
    reply: { kind: 'stall' },
    code: 'DEADLINE_EXCEEDED',
    reason: 'PROVIDER_TIMEOUT',
    message: /did not answer within 250 ms/,
    timeoutMs: SHORT_TIMEOUT_MS,
  },
  'a response without an end': {
    reply: { kind: 'stall', sendsHeaders: true },
    code: 'DEADLINE_EXCEEDED',
    reason: 'PROVIDER_TIMEOUT',
    message: /did not answer within 250 ms/,
    timeoutMs: SHORT_TIMEOUT_MS,
  },
  'a rejected key': { reply: status(401), code: 'FAILED_PRECONDITION', reason: 'PROVIDER_AUTH', message: /refused the key THE_KEY/ },
  'an internal error': { reply: status(500), code: 'UNAVAILABLE', reason: 'PROVIDER_UNAVAILABLE', message: /failed \(500\)/ },
  'an internal error in HTML': { reply: HTML_ERROR, code: 'UNAVAILABLE', reason: 'PROVIDER_UNAVAILABLE', message: /failed \(500\)/ },
  HTML: { reply: HTML, code: 'UNAVAILABLE', reason: 'BAD_RESPONSE', message: /not its protocol/, skipsSpeech: true },
  'an empty response': { reply: NOTHING, code: 'UNAVAILABLE', reason: 'BAD_RESPONSE', message: /sent a response/ },
  'an empty object': { reply: EMPTY_OBJECT, code: 'UNAVAILABLE', reason: 'BAD_RESPONSE', message: /sent a response/, skipsSpeech: true },
};

for (const [name, provider] of Object.entries(PROVIDERS)) {
  describe(name, () => {
    test('reads the answer and sends the key', TIMEOUT, async () => {
      await using upstream = await startMediaUpstream({ speech: SPEECH, image: PNG });
      await using models = openModels(provider, upstream.origin);
      assert.deepEqual(await provider.call(models, CALL_TIMEOUT_MS), provider.answer);
      const [header, value] = provider.authorization;
      assert.equal(upstream.requests[0]?.headers[header], value);
      const isSecretElsewhere = upstream.requests.slice(1).some(({ headers }) => JSON.stringify(headers).includes(KEY));
      assert.equal(isSecretElsewhere, false, 'files of an answer are fetched without the key');
    });

    for (const [failure, { reply, code, reason, message, timeoutMs = CALL_TIMEOUT_MS, skipsSpeech = false }] of Object.entries(FAILURES)) {
      if (skipsSpeech && provider.answer === SPEECH) continue;
      test(`names ${failure}`, TIMEOUT, async () => {
        await using upstream = await startMediaUpstream({ speech: SPEECH, image: PNG });
        await using models = openModels(provider, upstream.origin);
        upstream.respond(reply);
        await assert.rejects(provider.call(models, timeoutMs), (error: { code: string; message: string; details: object }) => {
          assert.deepEqual([error.code, (error.details as { reason: string }).reason], [code, reason], error.message);
          assert.match(error.message, message);
          assert.match(error.message, new RegExp(`^provider ${provider.id}\\b`));
          assert.ok(!error.message.includes(KEY));
          return true;
        });
        assert.equal(upstream.requests.length, 1, 'the chain of providers decides about another attempt');
      });
    }

    test('reads the date of a rate limit', TIMEOUT, async () => {
      await using upstream = await startMediaUpstream();
      await using models = openModels(provider, upstream.origin);
      upstream.respond(status(429, { 'retry-after': inFuture() }));
      await assert.rejects(
        provider.call(models, CALL_TIMEOUT_MS),
        ({ code, details }: { code: string; details: { retryAfterMs: number } }) => {
          assert.equal(code, 'RESOURCE_EXHAUSTED');
          assert.ok(details.retryAfterMs > RETRY_DELAY_MS - 30_000 && details.retryAfterMs <= RETRY_DELAY_MS, String(details.retryAfterMs));
          return true;
        },
      );
    });

    test('names a server that refuses connections', TIMEOUT, async () => {
      const upstream = await startMediaUpstream();
      await upstream[Symbol.asyncDispose]();
      await using models = openModels(provider, upstream.origin);
      await assert.rejects(provider.call(models, CALL_TIMEOUT_MS), {
        code: 'UNAVAILABLE',
        message: `provider ${provider.id} cannot be reached (ECONNREFUSED)`,
      });
    });
  });
}

test('fal: names a file of an answer that ends early', TIMEOUT, async () => {
  const provider = PROVIDERS['fal'] ?? assert.fail();
  await using upstream = await startMediaUpstream({ image: PNG });
  await using models = openModels(provider, upstream.origin);
  upstream.respond({ kind: 'cut' }, /^\/files/);
  await assert.rejects(provider.call(models, CALL_TIMEOUT_MS), { code: 'UNAVAILABLE', details: { reason: 'STREAM_CUT' } });
});

test('a cancelled call ends with the reason of its caller', TIMEOUT, async () => {
  const provider = PROVIDERS['Groq'] ?? assert.fail();
  await using upstream = await startMediaUpstream();
  await using models = openModels(provider, upstream.origin);
  upstream.respond({ kind: 'stall', sendsHeaders: true });
  const caller = new AbortController();
  const model = { provider: 'groq', modelId: 'whisper-large-v3-turbo' };
  const options = { model, audio: SPEECH, mimeType: 'audio/wav', signal: caller.signal, timeoutMs: CALL_TIMEOUT_MS };
  const call = models.transcribe(options);
  caller.abort(new Error('the caller left'));
  await assert.rejects(call, (error: Error) => error.message === 'the caller left' || (error.cause as Error).message === 'the caller left');
});
