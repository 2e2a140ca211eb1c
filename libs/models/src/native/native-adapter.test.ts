import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { startUpstream, type NativeWire } from '@switchyard/testkit';
import { embedStep } from '../calls/model-step.ts';
import type { Adapter } from '../model/adapter.ts';
import { adapterContract } from '../chat/adapter.contract.ts';
import { createProviderClients } from '../provider-clients.ts';
import { providerSettings } from '../providers/provider-settings.ts';
import { nativeRecordings } from './recordings.fixture.ts';

async function speaking(type: NativeWire, baseUrl: string): Promise<Adapter> {
  const { entries } = sections.providers.parse({ entries: { up: { type, baseUrl } } });
  const settings = providerSettings({ entries }, { env: {}, hosts: [] }).get('up');
  if (settings === undefined) throw new Error('no provider');
  return createProviderClients().adapter(settings, undefined);
}

for (const wire of ['anthropic', 'google'] as const)
  for (const isComplete of [false, true])
    adapterContract(`the wire of ${wire}${isComplete ? ', nobody reading along' : ''}`, {
      open: (url) => speaking(wire, url),
      whole: isComplete,
      recordings: nativeRecordings(wire),
    });

test('token ids are refused where the provider embeds texts only', async () => {
  await using upstream = await startUpstream();
  const adapter = await speaking('google', upstream.url);
  const controller = new AbortController();
  const request = { model: { provider: 'up', modelId: 'm' }, input: [[1, 2]], signal: controller.signal, promptTimeoutMs: 5_000 };
  const attempt = { request, signal: controller.signal, onAlive: () => undefined, traceparent: undefined };
  await assert.rejects(embedStep({ provider: 'up', adapter, attempt, cost: undefined }), {
    code: 'INVALID_ARGUMENT',
    message: 'Invalid request: input: expected texts, got token ids: provider up accepts texts only',
  });
  assert.equal(upstream.requests.length, 0);
});
