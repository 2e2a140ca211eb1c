import { sections } from '@switchyard/contracts';
import type { Upstream, UpstreamBehaviour } from '@switchyard/testkit';
import { createModels, type ModelAnswer, type ModelPart, type ModelRequest, type Models, type ModelsOptions } from './index.ts';

export const KEY = 'sk-test-0123456789abcdefghij';
export const LOCAL = { provider: 'local', modelId: 'small' };
export const TEXT: UpstreamBehaviour = { kind: 'text', text: 'one two three', usage: { prompt: 1_000, completion: 200, cached: 400 } };

interface Setup extends Partial<Omit<ModelsOptions, 'settings'>> {
  models?: object;
  entries?: Record<string, object>;
  allowedNetHosts?: readonly string[];
}

export function open({ models = {}, entries = {}, allowedNetHosts = [], ...options }: Setup): Models {
  const security = sections.security.parse({ permission: { allowedNetHosts } });
  const settings = { models: sections.models.parse(models), providers: sections.providers.parse({ entries }), security };
  return createModels({ settings: () => settings, secret: async () => null, env: {}, retry: { baseMs: 5, maxMs: 5 }, ...options });
}

/** Creates models with the upstream as provider `local` and its key. */
export function against({ url }: Upstream, entry: object = {}, options: Setup = {}): Models {
  const cost = { input: 1, output: 10, cacheRead: 0.5 };
  const local = { type: 'openai-compatible', baseUrl: url, apiKeyName: 'LOCAL_KEY', models: [{ id: 'small', cost }], ...entry };
  return open({ entries: { local }, secret: async (name) => (name === 'LOCAL_KEY' ? KEY : null), ...options });
}

export function request(rest: Partial<ModelRequest> = {}): ModelRequest {
  return { model: LOCAL, messages: [{ role: 'user', text: 'hi' }], signal: new AbortController().signal, promptTimeoutMs: 5_000, ...rest };
}

/** Runs a request and returns its parts and error. Parts of a non-streaming response are built from the result. */
export async function run(
  models: Models,
  asked: ModelRequest = request(),
  isComplete = false,
): Promise<{ parts: ModelPart[]; error?: unknown }> {
  const parts: ModelPart[] = [];
  try {
    if (isComplete) parts.push(...toParts(await models.complete(asked)));
    else parts.push(...(await streamParts(models, asked, (part) => parts.push(part))));
    return { parts };
  } catch (error) {
    return { parts, error };
  }
}

async function streamParts(models: Models, asked: ModelRequest, onMessage: (part: ModelPart) => void): Promise<ModelPart[]> {
  const end = await models.streamTo(asked, (text, type) => {
    onMessage({ type, text });
    return true;
  });
  if (end === undefined) throw new Error('it was left');
  return toParts({ text: '', reasoning: '', ...end });
}

export function toParts({ text, reasoning, calls, ...end }: ModelAnswer): ModelPart[] {
  return [
    ...(reasoning === '' ? [] : [{ type: 'reasoning' as const, text: reasoning }]),
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map((call) => ({ type: 'tool-call' as const, call })),
    { type: 'finish', ...end },
  ];
}
