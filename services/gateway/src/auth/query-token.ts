import type { IncomingMessage } from 'node:http';

const tokens = new WeakMap<object, string>();
const tickets = new WeakMap<object, string>();

/** Removes `?token=` and `?ticket=` from the URL before the URL can be logged. */
export function hideQueryToken(request: IncomingMessage): void {
  const url = request.url ?? '';
  const question = url.indexOf('?');
  if (question < 0) return;
  const text = url.slice(question + 1);
  if (!/token|ticket|%/.test(text)) return; // a percent sign may hide the name
  const query = new URLSearchParams(text);
  const [token, ticket] = [query.get('token'), query.get('ticket')];
  if (token === null && ticket === null) return;
  query.delete('token');
  query.delete('ticket');
  if (token !== null) tokens.set(request, token);
  if (ticket !== null) tickets.set(request, ticket);
  request.url = url.slice(0, question) + (query.size === 0 ? '' : `?${query.toString()}`);
}

export function getQueryToken(request: object): string | undefined {
  return tokens.get(request);
}

export function getQueryTicket(request: object): string | undefined {
  return tickets.get(request);
}
