import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { sections } from '@switchyard/contracts';
import { streamingAdapter, type Adapter, type Ending, type Delta } from '../model/adapter.ts';
import { providerSettings } from '../providers/provider-settings.ts';
import { adapterContract } from './adapter.contract.ts';
import { createChatAdapter } from './chat-adapter.ts';
import { openConnectionPool } from '../http/connection-pool.ts';
import { recordings, wholeRecordings } from './recordings.ts';

async function ours(baseUrl: string): Promise<Adapter> {
  const { entries } = sections.providers.parse({ entries: { up: { type: 'openai-compatible', baseUrl } } });
  const settings = providerSettings({ entries }, { env: {}, hosts: [] }).get('up');
  if (settings === undefined) throw new Error('no provider');
  return createChatAdapter(settings, undefined, await openConnectionPool());
}

/** A reference client of the same API, which validates the recordings. */
async function foreign(baseURL: string): Promise<Adapter> {
  const model = createOpenAICompatible({ name: 'up', baseURL, includeUsage: true }).chatModel('one');
  return streamingAdapter(async function* (attempt): AsyncGenerator<Delta, Ending, void> {
    const { stream } = await model.doStream({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      abortSignal: attempt.signal,
    });
    const calls: { callId: string; name: string; text: string }[] = [];
    let ending: Ending = { calls, usage: {} };
    for await (const part of stream) {
      if (part.type === 'text-delta') yield { type: 'text', text: part.delta };
      else if (part.type === 'reasoning-delta') yield { type: 'reasoning', text: part.delta };
      else if (part.type === 'tool-call') calls.push({ callId: part.toolCallId, name: part.toolName, text: part.input });
      else if (part.type === 'finish') {
        const { total: input, cacheRead } = part.usage.inputTokens;
        const { total: output } = part.usage.outputTokens;
        const usage = {
          ...(input === undefined ? {} : { input }),
          ...(output === undefined ? {} : { output }),
          ...(cacheRead ? { cacheRead } : {}),
        };
        ending = { ...(part.finishReason.raw === undefined ? {} : { finish: part.finishReason.raw }), calls, usage };
      }
    }
    return ending;
  });
}

adapterContract('ours, asked to stream', { open: ours, whole: false, recordings });
adapterContract('ours, asked in one piece and streamed all the same', { open: ours, whole: true, recordings });
adapterContract('ours, asked in one piece', { open: ours, whole: true, recordings: wholeRecordings });
adapterContract('a foreign client', { open: foreign, whole: false, recordings: recordings.filter((one) => one.excluded === undefined) });
