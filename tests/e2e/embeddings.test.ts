import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { NotFoundError } from 'openai';
import { openai } from './clients.ts';
import { startEmbedded } from './embedded.ts';
import { onEachProfile } from './profiles.ts';

const DIMENSIONS = 1_536;
const TEXTS = 200;

let upstream: Upstream;

onEachProfile(
  'embeddings of an upstream',
  (product) => {
    test('embeds one text and several, as numbers and as base64', async () => {
      const vector = Array.from({ length: DIMENSIONS }, (_, at) => Math.fround(at / DIMENSIONS));
      for (const texts of [1, TEXTS]) {
        const data = Array.from({ length: texts }, (_, index) => ({ object: 'embedding', index, embedding: vector }));
        upstream.respond({ kind: 'answer', body: { object: 'list', data, model: 'small-2', usage: { prompt_tokens: texts } } });
        for (const format of ['float', 'base64'] as const) {
          const input = Array.from({ length: texts }, (_, at) => `text ${at}`);
          const request = { model: 'lab/small', input, encoding_format: format };
          const answer = await openai(product).embeddings.create(request);
          assert.deepEqual([answer.model, answer.data.length], ['small-2', texts]);
          const read: unknown = answer.data.at(-1)?.embedding;
          assert.deepEqual(typeof read === 'string' ? floats(read) : read, vector, format);
          assert.deepEqual(upstream.requests.at(-1)?.body['input'], input);
        }
      }
    });

    test('rejects a model unknown to the upstream', async () => {
      upstream.respond({ kind: 'status', status: 404 });
      await assert.rejects(openai(product).embeddings.create({ model: 'none', input: 'x' }), (error) => {
        assert.ok(error instanceof NotFoundError);
        return (error.error as { message: string }).message === 'Model not found';
      });
    });
  },
  {
    async start(stack) {
      upstream = stack.use(await startUpstream());
      return {
        config: { providers: { entries: { lab: { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'small' }] } } } },
      };
    },
  },
);

test('rejects embeddings without a provider, and when they are disabled', async () => {
  const entries = { lab: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1', models: [{ id: 'small' }] } };
  for (const config of [{}, { providers: { entries }, embedding: { enabled: false } }]) {
    await using product = await startEmbedded({ config });
    await assert.rejects(openai(product).embeddings.create({ model: 'small', input: 'x' }), (error) => {
      assert.ok(error instanceof NotFoundError);
      assert.deepEqual(error.error, { message: 'No embedding provider configured', type: 'not_found_error', param: null, code: null });
      return true;
    });
  }
});

function floats(base64: string): number[] {
  const bytes = Buffer.from(base64, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
}
