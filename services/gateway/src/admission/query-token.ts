import type { IncomingMessage } from 'node:http';

const tokens = new WeakMap<IncomingMessage, string>();

/** Takes `?token=` out of the URL before anything can log it. */
export function hideQueryToken(request: IncomingMessage): void {
  const url = request.url ?? '';
  const question = url.indexOf('?');
  if (question < 0) return;
  const text = url.slice(question + 1);
  if (!text.includes('token') && !text.includes('%')) return; // the name itself may be percent-encoded
  const query = new URLSearchParams(text);
  const token = query.get('token');
  if (token === null) return;
  query.delete('token');
  request.url = url.slice(0, question) + (query.size === 0 ? '' : `?${query.toString()}`);
  tokens.set(request, token);
}

export function queryToken(request: IncomingMessage): string | undefined {
  return tokens.get(request);
}
