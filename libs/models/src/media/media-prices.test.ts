import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PUBLISHED } from '../catalogue/published-models.ts';
import { calculateMediaCost, listMediaPriceSources, type BilledAmounts } from './media-prices.ts';

const OPENAI = 'https://api.openai.com/v1';
const GROQ = 'https://api.groq.com/openai/v1';

function cost(name: string, baseUrl: string, amounts: BilledAmounts): string | undefined {
  const [provider = '', ...rest] = name.split('/');
  return calculateMediaCost({ provider, modelId: rest.join('/') }, baseUrl, amounts)?.toFixed(9);
}

test('prices transcription by time or by tokens', () => {
  assert.equal(cost('openai/whisper-1', OPENAI, { second: 90 }), '0.009000000');
  assert.equal(cost('groq/whisper-large-v3-turbo', GROQ, { second: 3_600 }), '0.040000000');
  assert.equal(cost('groq/whisper-large-v3-turbo', GROQ, { second: 1 }), (0.04 / 360).toFixed(9), 'ten seconds at least');
  const tokens = { textToken: 0, audioToken: 1_000, outputToken: 100 };
  assert.equal(cost('openai/gpt-4o-mini-transcribe', OPENAI, tokens), '0.001750000');
});

test('prices speech by characters and images by megapixels', () => {
  assert.equal(cost('openai/tts-1', OPENAI, { character: 1_000 }), '0.015000000');
  assert.equal(cost('fal/fal-ai/flux/schnell', 'https://fal.run', { megapixel: 2 }), '0.006000000');
});

test('leaves the cost unknown without a price, without an amount, and at another address', () => {
  assert.equal(cost('elevenlabs/eleven_multilingual_v2', 'https://api.elevenlabs.io', { character: 10 }), undefined);
  assert.equal(cost('openai/gpt-4o-mini-transcribe', OPENAI, { second: 60 }), undefined);
  assert.equal(cost('openai/whisper-1', 'http://127.0.0.1:8000/v1', { second: 60 }), undefined);
});

test('each list price names its page, and a past day on which the page showed it', () => {
  const sources = [...PUBLISHED.map(({ modelId, source }) => ({ model: modelId, ...source })), ...listMediaPriceSources()];
  for (const { model, url, checked } of sources) {
    assert.equal(new URL(url).protocol, 'https:', model);
    const day = new Date(checked);
    assert.equal(day.toISOString().slice(0, 10), checked, model);
    assert.ok(day.getUTCFullYear() >= 2026 && day.getTime() <= Date.now(), `${model}: ${checked}`);
  }
});
