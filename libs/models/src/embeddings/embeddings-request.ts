import type { Embed } from '../model/adapter.ts';
import type { ConnectionPool } from '../http/connection-pool.ts';
import { resolveEndpoint } from '../providers/endpoint.ts';
import type { ProviderSettings } from '../providers/provider-settings.ts';
import { requestText } from '../http/text-request.ts';
import { toWellFormedJson } from '../http/json-text.ts';
import { readVectors } from './read-vectors.ts';

/** Enough for 2,048 vectors of 3,072 numbers, the limit of the large providers. */
const MAX_RESPONSE_BYTES = 48 * 1024 * 1024;

/** Creates the embeddings call of a provider. */
export function createEmbed(settings: ProviderSettings, key: string | undefined, origins: ConnectionPool): Embed {
  const endpoint = resolveEndpoint(settings, key, '/embeddings');
  return async ({ request, signal, onAlive, traceparent }) => {
    const { model, input, dimensions } = request;
    const body = toWellFormedJson(JSON.stringify({ model: model.modelId, input, dimensions, encoding_format: 'base64' }));
    const text = await requestText(origins, endpoint, { body, maxBytes: MAX_RESPONSE_BYTES, signal, onAlive, traceparent });
    return readVectors(text, input.length);
  };
}
