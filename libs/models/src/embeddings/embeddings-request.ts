import type { Embed } from '../model/adapter.ts';
import type { Origins } from '../http/connection-pool.ts';
import { addressOf } from '../providers/endpoint.ts';
import type { ProviderSettings } from '../providers/provider-settings.ts';
import { askWhole } from '../http/text-request.ts';
import { readVectors } from './read-vectors.ts';

/** Room for 2,048 vectors of 3,072 numbers, the most that the large providers answer at once. */
const MAX_ANSWER_BYTES = 48 * 1024 * 1024;

/** Asks the embeddings route of a provider, which stands beside its chat completions. */
export function createEmbed(settings: ProviderSettings, key: string | undefined, origins: Origins): Embed {
  const endpoint = addressOf(settings, key, '/embeddings');
  return async ({ request, signal, onAlive, traceparent }) => {
    const { model, input, dimensions } = request;
    const body = JSON.stringify({ model: model.modelId, input, dimensions, encoding_format: 'base64' });
    const text = await askWhole(origins, endpoint, { body, maxBytes: MAX_ANSWER_BYTES, signal, onAlive, traceparent });
    return readVectors(text, input.length);
  };
}
