import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChaosConfig } from '@copilotkit/aimock';
import { createSource, putBlob } from '@switchyard/blob';
import type { ConfigurationPatch } from '@switchyard/contracts';
import { encodeWav } from '@switchyard/models';
import { principal, type TestService } from '@switchyard/testkit';
import { testMedia } from '../media.fixture.ts';
import { startMockProviders } from './aimock.fixture.ts';

/** Protocols that others have written down, for the failures of all providers that aimock knows. Deepgram has only our own server. */
const TIMEOUT = { timeout: 120_000 };
const KEY = 'a-key-of-this-test-only';
const SPEECH = encodeWav(new Int16Array(2_400), 24_000);
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const TEXT = 'The train leaves at nine.';
const LATENCY_MS = 300;
/** aimock delays no response for longer. */
const MAX_LATENCY_MS = 30_000;
const SHORT_TIMEOUT_MS = 3_000;

type Call = (app: TestService, options?: { timeoutMs?: number }) => Promise<unknown>;

const transcribe: Call = async (app, options) => {
  const blobs = (await app.host.blobs()).for(principal());
  const { id } = await putBlob(blobs, createSource(Buffer.from(SPEECH)), { contentType: 'audio/wav' });
  return (await app.bus.call('media.transcribe', { attachment_url: `/media/${id}.wav` }, options)).text;
};
const speak: Call = async (app, options) => {
  const { filePath, mimeType, sizeBytes } = await app.bus.call('tts.synthesize', { text: 'Hello.', format: 'wav' }, options);
  assert.match(filePath, /\.wav$/);
  return [mimeType, sizeBytes];
};
/** The failures of this method are in its result. */
const paint: Call = async (app, options) => {
  const result = await app.bus.call('image.generate', { prompt: 'a yard', size: '64x64' }, options);
  if (!result.success) throw new Error(result.error);
  return result.imageBase64;
};
const describeImage: Call = async (app, options) =>
  (await app.bus.call('image.analyze', { source: PNG, source_type: 'base64' }, options)).description;

interface Provider {
  id: string;
  /** The address of its API below that of aimock. */
  path: string;
  settings?: ConfigurationPatch;
  headers?: Readonly<Record<string, string>>;
  /** The model that takes images. */
  model?: string;
  call: Call;
  answer: unknown;
  /** Requests of a call; default one. */
  requests?: number;
}

const HEARD = { call: transcribe, answer: TEXT };
const SPOKEN = { call: speak, answer: ['audio/wav', SPEECH.length] };
const PAINTED = { call: paint, answer: PNG };
const SEEN = { call: describeImage, answer: TEXT };
const falHost = { 'x-fal-target-host': 'fal.run' };

const PROVIDERS: Readonly<Record<string, Provider>> = {
  'OpenAI, transcription': { id: 'openai', path: '/v1', ...HEARD },
  Groq: { id: 'groq', path: '/v1', settings: { media: { transcription: { provider: 'groq' } } }, ...HEARD },
  'OpenAI, speech': { id: 'openai', path: '/v1', ...SPOKEN },
  ElevenLabs: { id: 'elevenlabs', path: '', settings: { tts: { provider: 'elevenlabs' } }, ...SPOKEN },
  'OpenAI, images': { id: 'openai', path: '/v1', settings: { imageGen: { provider: 'openai' } }, ...PAINTED },
  fal: { id: 'fal', path: '/fal', headers: falHost, ...PAINTED, requests: 2 },
  'OpenAI, vision': { id: 'openai', path: '/v1', model: 'gpt-4o', settings: { media: { vision: { providers: ['openai'] } } }, ...SEEN },
  Google: {
    id: 'google',
    path: '/v1beta',
    model: 'gemini-3.5-flash-lite',
    settings: { media: { vision: { providers: ['google'] } } },
    ...SEEN,
  },
};

interface Failure {
  faults: ChaosConfig & { cut?: boolean };
  code: string;
  message: RegExp;
  options?: { timeoutMs: number };
}

const FAILURES: Readonly<Record<string, Failure>> = {
  'a cut response': { faults: { cut: true }, code: 'UNAVAILABLE', message: /ended its response before it was complete/ },
  'a closed connection': { faults: { disconnectRate: 1 }, code: 'UNAVAILABLE', message: /cannot be reached/ },
  'a rate limit': { faults: { rateLimitRate: 1 }, code: 'RESOURCE_EXHAUSTED', message: /rate limit exceeded/ },
  'an internal error': { faults: { dropRate: 1 }, code: 'UNAVAILABLE', message: /failed \(500\)/ },
  'broken JSON': {
    faults: { malformedRate: 1 },
    code: 'UNAVAILABLE',
    message: /not its protocol|invalid JSON|does not stream|instead of speech/,
  },
  'a response after the deadline': {
    faults: { latencyMs: MAX_LATENCY_MS },
    code: 'DEADLINE_EXCEEDED',
    message: /./,
    options: { timeoutMs: SHORT_TIMEOUT_MS },
  },
};

async function openMedia({ id, path, settings = {}, headers, model }: Provider, origin: string): Promise<TestService> {
  const entry = {
    type: id === 'google' || id === 'openai' ? id : 'openai-compatible',
    baseUrl: `${origin}${path}`,
    apiKeyName: 'THE_KEY',
    ...(headers && { headers }),
    ...(model !== undefined && { models: [{ id: model, input: ['text' as const, 'image' as const] }] }),
  };
  return testMedia({ settings: { ...settings, providers: { entries: { [id]: entry } } }, secrets: { THE_KEY: KEY } });
}

for (const [name, provider] of Object.entries(PROVIDERS)) {
  describe(name, TIMEOUT, () => {
    const startMock = () => startMockProviders({ text: TEXT, speech: SPEECH, image: Buffer.from(PNG, 'base64') });

    test('answers at once and late', async () => {
      for (const faults of [{}, { latencyMs: LATENCY_MS }]) {
        await using mock = await startMock();
        mock.setFaults(faults);
        await using app = await openMedia(provider, mock.origin);
        assert.deepEqual(await provider.call(app), provider.answer);
        assert.equal(mock.countRequests(), provider.requests ?? 1);
      }
    });

    for (const [failure, { faults, code, message, options }] of Object.entries(FAILURES)) {
      test(`names ${failure}, and answers again after it`, async () => {
        await using mock = await startMock();
        mock.setFaults(faults);
        await using app = await openMedia(provider, mock.origin);
        await assert.rejects(provider.call(app, options), (error: Error & { code?: string; details?: Record<string, unknown> }) => {
          assert.match(error.message, message);
          assert.ok(!error.message.includes(KEY));
          if (provider.call === paint && !('code' in error)) return true;
          assert.equal(error.code, code, error.message);
          if (code === 'RESOURCE_EXHAUSTED') assert.equal(error.details?.['retryAfterMs'], 1_000);
          return true;
        });
        assert.ok(mock.countRequests() > 0);
        mock.setFaults({});
        await using next = await openMedia(provider, mock.origin);
        assert.deepEqual(await provider.call(next), provider.answer);
      });
    }
  });
}
