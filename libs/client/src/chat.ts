import type { TurnResult } from '@switchyard/contracts';
import type { ServerEvent } from './event-stream.ts';
import type { HttpOptions } from './http-transport.ts';
import { connectionLost, fromAnswer, isObject, parseJson, type RpcError } from './rpc-error.ts';
import { isInterruption, readConnection, type StreamRequest } from './sse-connection.ts';
import { badAnswer, endpoint } from './transport.ts';
import { backoff, followSignals, pause } from './timing.ts';

const MAX_ATTEMPTS = 8;

export interface ChatOptions {
  agentId?: string;
  sessionKey?: string;
  signal?: AbortSignal;
  /** Cancels the turn when the reader stops, by the signal or by leaving the loop. Otherwise the turn continues without a reader. */
  cancels?: boolean;
}

/**
 * An event of a streamed response. `resumed` is sent when another process continues the turn: its `accumulated` replaces the text
 * received so far. `done` names the turn if the gateway does.
 */
export type ChatEvent =
  | { type: 'token'; delta: string; accumulated: string }
  | { type: 'resumed'; accumulated: string }
  | ({ type: 'done'; turnId?: string } & TurnResult);

interface Question extends StreamRequest {
  /** The id of the last event, and whether the last event was final. */
  read: { last?: string | undefined; done: boolean };
}

/** Dependencies of a chat. */
export interface ChatDeps {
  http: HttpOptions;
  closed: AbortSignal;
  cancel: (turnId: string) => Promise<unknown>;
}

/**
 * Sends the message over `GET /api/chat/stream` and streams the response. A broken stream is resumed by the id of its last event. A
 * stream that breaks before its first event fails, because a second request could run the turn twice.
 */
export async function* chat({ http, closed, cancel }: ChatDeps, message: string, options: ChatOptions): AsyncGenerator<ChatEvent> {
  const controller = new AbortController();
  const release = followSignals(controller, [options.signal, closed]);
  const address = endpoint(http.url, 'api/chat/stream');
  address.searchParams.set('message', message);
  if (options.agentId !== undefined) address.searchParams.set('agentId', options.agentId);
  if (options.sessionKey !== undefined) address.searchParams.set('sessionKey', options.sessionKey);
  const read: Question['read'] = { done: false };
  try {
    yield* readAnswer({ ...http, address, signal: controller.signal, read });
  } finally {
    release();
    controller.abort();
    const [turnId] = read.last?.split(':') ?? [];
    // The reader has stopped, so a failure to cancel is ignored.
    if (options.cancels === true && turnId !== undefined && !read.done) await cancel(turnId).catch(() => undefined);
  }
}

async function* readAnswer(question: Question): AsyncGenerator<ChatEvent> {
  const { read } = question;
  for (let attempt = 0; ; attempt += 1) {
    try {
      for await (const event of readConnection(question, read.last)) {
        if (event.id !== undefined && event.id !== read.last) attempt = 0;
        read.last = event.id ?? read.last;
        read.done = event.event === 'done' || event.event === 'error';
        const payload = interpret(event);
        if (payload) yield payload.type === 'done' ? { ...nameTurn(read.last), ...payload } : payload;
        if (payload?.type === 'done') return;
      }
      throw connectionLost();
    } catch (error) {
      question.signal.throwIfAborted();
      const resumable = read.last !== undefined && attempt < MAX_ATTEMPTS && isInterruption(error);
      if (!resumable) throw error;
      await pause(backoff(attempt, question.reconnect), question.signal);
    }
  }
}

/** The id of an event begins with the turn. */
function nameTurn(eventId: string | undefined): { turnId?: string } {
  const [turnId] = eventId?.split(':') ?? [];
  return turnId === undefined ? {} : { turnId };
}

function interpret({ event, data }: ServerEvent): ChatEvent | undefined {
  if (event !== 'token' && event !== 'resumed' && event !== 'done' && event !== 'error') return undefined;
  const payload = parseJson(data);
  if (!isObject(payload)) throw badAnswer(`The ${event} event of the stream has no JSON object`);
  if (event === 'error') throw turnFailed(payload);
  return { type: event, ...payload } as ChatEvent;
}

/** Converts an error event: `{error: "…"}` with details beside it, or a complete JSON-RPC error. */
function turnFailed({ error, data, ...rest }: Record<string, unknown>): RpcError {
  if (isObject(error)) return fromAnswer(error);
  return fromAnswer({ message: error, data: isObject(data) ? data : typeof rest['code'] === 'string' ? rest : undefined });
}
