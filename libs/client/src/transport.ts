import { fromAnswer, isObject, localError, type RpcError } from './rpc-error.ts';

/** A call to be sent. */
export interface Outgoing {
  id: number;
  method: string;
  params: unknown;
}

export type Answer = { ok: true; result: unknown } | { ok: false; error: RpcError };

export interface ExchangeOptions {
  signal: AbortSignal;
  /** Whether the calls may be repeated after a broken connection. */
  repeatable: boolean;
}

/** Sends calls and receives their answers. One call is sent as an object, several as a batch. */
export interface Transport {
  /** Returns the answers in the order of the calls. Rejects if the exchange fails. */
  exchange(calls: readonly Outgoing[], options: ExchangeOptions): Promise<Answer[]>;
  /** Sends a call without an answer. */
  notify(method: string, params: unknown, signal: AbortSignal): Promise<void>;
  close(): void;
}

export function encode(calls: readonly Outgoing[]): string {
  const messages = calls.map((call) => ({ jsonrpc: '2.0', ...call }));
  return JSON.stringify(messages.length === 1 ? messages[0] : messages);
}

export function encodeNotification(method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}

/** Decodes an answer. Returns undefined for other messages. */
export function decodeAnswer(message: unknown): { id: unknown; answer: Answer } | undefined {
  if (!isObject(message)) return undefined;
  const { id } = message;
  if ('error' in message) return { id, answer: { ok: false, error: fromAnswer(message['error']) } };
  return 'result' in message ? { id, answer: { ok: true, result: message['result'] } } : undefined;
}

export function badAnswer(description: string): RpcError {
  return localError('INTERNAL', 'BAD_ANSWER', description);
}

/** Resolves a path below the gateway's address, which may have a path itself. */
export function endpoint(base: string, path: string): URL {
  return new URL(path, base.endsWith('/') ? base : `${base}/`);
}
