import { fromAnswer, isObject, localError, type RpcError } from './rpc-error.ts';

/** One call on its way. */
export interface Outgoing {
  id: number;
  method: string;
  params: unknown;
}

export type Answer = { ok: true; result: unknown } | { ok: false; error: RpcError };

export interface ExchangeOptions {
  signal: AbortSignal;
  /** Whether the calls may be made again when the connection broke under them. */
  repeatable: boolean;
}

/** Carries calls and their answers. One call is one object on the wire, several are a batch. */
export interface Transport {
  /** The answers in the order of the calls; rejects when there are none to be had. */
  exchange(calls: readonly Outgoing[], options: ExchangeOptions): Promise<Answer[]>;
  /** A call that nobody answers. */
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

/** One answer as it came; undefined when it is none. */
export function decodeAnswer(message: unknown): { id: unknown; answer: Answer } | undefined {
  if (!isObject(message)) return undefined;
  const { id } = message;
  if ('error' in message) return { id, answer: { ok: false, error: fromAnswer(message['error']) } };
  return 'result' in message ? { id, answer: { ok: true, result: message['result'] } } : undefined;
}

export function badAnswer(what: string): RpcError {
  return localError('INTERNAL', 'BAD_ANSWER', what);
}

/** `path` below the address of the gateway, which may itself have a path. */
export function endpoint(base: string, path: string): URL {
  return new URL(path, base.endsWith('/') ? base : `${base}/`);
}
