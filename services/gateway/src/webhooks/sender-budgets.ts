import type { IncomingMessage } from 'node:http';
import type { Settings } from '@switchyard/service-kit';
import { readBody } from '../request/request-body.ts';

/** Reads bodies of unauthenticated senders, with a limit on the bytes held per address. */
export function createSenderBodyReader(settings: Settings<'webhooks'>, getAddress: (request: IncomingMessage) => string): typeof read {
  const senders = new Map<string, { incompleteBytes: number; requests: number }>();

  function read(payload: IncomingMessage, done: (error: Error | null, body?: Buffer) => void): void {
    const address = getAddress(payload);
    const caller = senders.get(address) ?? { incompleteBytes: 0, requests: 0 };
    senders.set(address, caller);
    caller.requests += 1;
    readBody(payload, { limit: settings.current.webhooks.maxBodyBytes, caller }, (error, body) => {
      caller.requests -= 1;
      if (caller.requests === 0) senders.delete(address);
      done(error, body);
    });
  }

  return read;
}
