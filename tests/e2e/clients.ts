import assert from 'node:assert/strict';
import OpenAI from 'openai';
import type { Running } from './embedded.ts';
import { call } from './exchange.ts';
import type { Received } from './listening.ts';

/** A client of the `/v1` API without automatic retries. */
export function openai({ url, token }: Running): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 });
}

/** The URL of a streamed chat request. */
export function chatUrl({ url, token }: Pick<Running, 'url' | 'token'>, query: Record<string, string>): string {
  return `${url}/api/chat/stream?${new URLSearchParams({ ...query, token }).toString()}`;
}

/** Sends GET, or POST if there is a body, to a route with a JSON response. */
export async function rest(
  { url, token }: Running,
  path: string,
  body?: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(url + path, {
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** The texts of a channel, alternating question and answer. */
export async function contents(product: Running, channelId: string): Promise<string[]> {
  const { messages } = await call<{ messages: { content: string }[] }>(product, 'session.history', { channelId });
  return messages.map(({ content }) => content);
}

/** Asserts that all events belong to one turn with increasing positions. */
export function assertOneTurn(receivedMessages: readonly Received[]): void {
  const ids = receivedMessages.map(({ id }) => /^(turn_[0-9A-Za-z]{22}):(\d+)$/.exec(id) ?? assert.fail(`${id} is no event id`));
  assert.equal(new Set(ids.map(([, turnId]) => turnId)).size, 1);
  const numbers = ids.map(([, , n]) => Number(n));
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
  );
}

export function getText(heard: readonly Received[]): string {
  return heard.map(({ data }) => (typeof data['delta'] === 'string' ? data['delta'] : '')).join('');
}
