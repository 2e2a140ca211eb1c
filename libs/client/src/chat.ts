import type { TurnResult } from '@switchyard/contracts';
import { readEvents, type ServerEvent } from './event-stream.ts';
import { bearer, type HttpOptions } from './http-transport.ts';
import { connectionLost, fromAnswer, fromResponse, isObject, localError, parsed, RpcError } from './rpc-error.ts';
import { badAnswer, endpoint } from './transport.ts';
import { backoff, follow, pause } from './timing.ts';

const MAX_ATTEMPTS = 8;
/** The gateway says something at least every 15 s; three times nothing is a dead connection. */
const SILENCE_MS = 45_000;

export interface ChatOptions {
  agentId?: string;
  sessionKey?: string;
  signal?: AbortSignal;
  /** Who stops reading, by the signal or by leaving the loop, ends the turn too. It goes on without its reader otherwise. */
  cancels?: boolean;
}

/**
 * A piece of the answer, then the whole answer. `resumed` comes where another process went on with the turn: what was said is
 * `accumulated` from there on, whatever the pieces before it amount to.
 */
export type ChatEvent =
  | { type: 'token'; delta: string; accumulated: string }
  | { type: 'resumed'; accumulated: string }
  | ({ type: 'done' } & TurnResult);

interface Question extends HttpOptions {
  address: URL;
  signal: AbortSignal;
  /** How far it was read. */
  read: { last?: string | undefined; done: boolean };
}

/** Whose client it is. */
export interface Asker {
  http: HttpOptions;
  closed: AbortSignal;
  cancel: (turnId: string) => Promise<unknown>;
}

/**
 * Asks once and reads the answer as it is written, over `GET /api/chat/stream`. A cut stream is resumed where it broke,
 * by the id of its last event; a stream that broke before its first event fails, because asking again could ask twice.
 */
export async function* chat({ http, closed, cancel }: Asker, message: string, options: ChatOptions): AsyncGenerator<ChatEvent> {
  const controller = new AbortController();
  const release = follow(controller, [options.signal, closed]);
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
    // Whether that works or not, whoever reads has left.
    if (options.cancels === true && turnId !== undefined && !read.done) await cancel(turnId).catch(() => undefined);
  }
}

async function* readAnswer(question: Question): AsyncGenerator<ChatEvent> {
  const { read } = question;
  for (let attempt = 0; ; attempt += 1) {
    try {
      for await (const event of readOnce(question, read.last)) {
        if (event.id !== undefined && event.id !== read.last) attempt = 0;
        read.last = event.id ?? read.last;
        read.done = event.event === 'done' || event.event === 'error';
        const said = interpret(event);
        if (said) yield said;
        if (said?.type === 'done') return;
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

function isInterruption(error: unknown): boolean {
  return error instanceof RpcError && error.data.reason === 'CONNECTION_LOST';
}

/** The events of one connection. A turn that has ended is answered with 204. */
async function* readOnce(question: Question, last: string | undefined): AsyncGenerator<ServerEvent> {
  const { address, fetch, token, signal } = question;
  const connection = new AbortController();
  const release = follow(connection, [signal]);
  try {
    const headers = { accept: 'text/event-stream', ...bearer(token), ...(last === undefined ? {} : { 'last-event-id': last }) };
    const response = await audible(fetch(address, { headers, signal: connection.signal, cache: 'no-store' }), connection);
    if (response.status === 204)
      throw localError('NOT_FOUND', 'STREAM_ENDED', 'The turn has ended; its answer is in the history of the session');
    if (!response.ok || response.body === null) throw await refusal(response, last !== undefined);
    yield* readEvents(chunksOf(response.body, connection));
  } catch (error) {
    if (error instanceof RpcError) throw error;
    throw error instanceof RangeError ? badAnswer(error.message) : connectionLost(error);
  } finally {
    release();
    connection.abort();
  }
}

/** A gateway that cannot answer just now is as good as a lost connection, once there is something to resume. */
async function refusal(response: Response, resuming: boolean): Promise<RpcError> {
  const error = await fromResponse(response, resuming);
  return resuming && error.retryable ? connectionLost(error) : error;
}

async function* chunksOf(body: ReadableStream<Uint8Array>, connection: AbortController): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await audible(reader.read(), connection);
    if (done) return;
    yield value;
  }
}

/** Gives the connection up when what is awaited from it does not come. */
async function audible<T>(awaited: Promise<T>, connection: AbortController): Promise<T> {
  const timer = setTimeout(() => connection.abort(connectionLost(new Error('silence'))), SILENCE_MS);
  return awaited.finally(() => clearTimeout(timer));
}

function interpret({ event, data }: ServerEvent): ChatEvent | undefined {
  if (event !== 'token' && event !== 'resumed' && event !== 'done' && event !== 'error') return undefined;
  const said = parsed(data);
  if (!isObject(said)) throw badAnswer(`The stream has a ${event} event without an object`);
  if (event === 'error') throw turnFailed(said);
  return { type: event, ...said } as ChatEvent;
}

/** `{error: "…"}` with the machine detail beside it, or a whole JSON-RPC error in its place. */
function turnFailed({ error, data, ...rest }: Record<string, unknown>): RpcError {
  if (isObject(error)) return fromAnswer(error);
  return fromAnswer({ message: error, data: isObject(data) ? data : typeof rest['code'] === 'string' ? rest : undefined });
}
