import { STATUS_CODES } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Attempt } from '../model/adapter.ts';
import { errorBody, type Body } from '../http/error-body.ts';
import { NotTheProtocol } from '../errors/protocol-error.ts';
import { streamCut } from '../errors/provider-errors.ts';
import { UpstreamError } from '../errors/upstream-error.ts';

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Bytes nobody took yet; beyond, the socket is not read until somebody does. */
const MAX_WAITING = 256 * 1024;

type Controller = Dispatcher.DispatchController;
type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

export interface ConversationOptions {
  provider: string;
  attempt: Attempt;
  /** How long the answer may take to begin. */
  timeoutMs: number;
}

/** One request of a library, and what comes back as the response that it reads. */
export class Conversation implements Dispatcher.DispatchHandler {
  readonly attempt: Attempt;
  /** The response, once its head is there. Rejects with why there is none. */
  readonly response: Promise<Response>;
  /** What it failed with: libraries say that in words of their own. */
  failure: { error: unknown } | undefined;
  /** Whether the upstream has begun to answer, well or not. */
  answered = false;
  readonly #provider: string;
  readonly #head = Promise.withResolvers<Response>();
  readonly #timeoutMs: number;
  #timer: NodeJS.Timeout | undefined;
  #onClosed: (() => void) | undefined;
  #controller: Controller | undefined;
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  #refusal: Body | undefined;
  #bytes = 0;
  #closed = false;

  constructor({ provider, attempt, timeoutMs }: ConversationOptions) {
    this.attempt = attempt;
    this.#provider = provider;
    this.response = this.#head.promise;
    this.response.catch(() => undefined); // it may fail before the library asks
    this.#timeoutMs = timeoutMs;
    attempt.signal.addEventListener('abort', this.#left, { once: true });
    if (attempt.signal.aborted) this.#left();
  }

  /** It has a connection, which is given back by `onClosed`. */
  entered(onClosed: () => void): void {
    this.#onClosed = onClosed;
    this.#timer = setTimeout(() => this.fail(late(this.#timeoutMs)), this.#timeoutMs);
  }

  /** Ends it with an error. The first one counts. */
  fail(error: unknown): void {
    this.failure ??= { error };
    this.#tell();
    this.end();
  }

  /** Nobody reads any more. */
  end(): void {
    clearTimeout(this.#timer);
    this.attempt.signal.removeEventListener('abort', this.#left);
    if (!this.#closed) this.#controller?.abort(new Error('left'));
  }

  readonly #left = (): void => this.fail(this.attempt.signal.reason);

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.failure !== undefined) controller.abort(new Error('left'));
  }

  onResponseStart(controller: Controller, status: number, headers: Headers, statusText = ''): void {
    if (status < 200) return;
    this.answered = true;
    clearTimeout(this.#timer);
    this.attempt.onAlive();
    if (status >= 300) {
      this.#refusal = errorBody({ status, statusText: statusText || (STATUS_CODES[status] ?? ''), headers });
      return;
    }
    const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers;
    if (encoding !== 'identity') return this.fail(new NotTheProtocol('answered in an encoding that was not asked for'));
    if (/^(application\/json|text\/html)\b/i.test(String(type))) {
      return this.fail(new NotTheProtocol(`does not stream: it answered ${String(type).slice(0, 100)}`));
    }
    const body = new ReadableStream<Uint8Array>(
      {
        start: (stream) => void (this.#stream = stream),
        pull: () => controller.resume(),
        cancel: () => this.end(),
      },
      { highWaterMark: MAX_WAITING, size: (bytes) => bytes?.byteLength ?? 0 },
    );
    this.#head.resolve(new Response(body, { status, headers: { 'content-type': String(type) } }));
  }

  onResponseData(controller: Controller, bytes: Buffer): void {
    if (this.failure !== undefined) return;
    this.attempt.onAlive();
    if (this.#refusal !== undefined) return this.#refusal.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes > MAX_ANSWER_BYTES) return this.fail(new NotTheProtocol(`sent more than ${MAX_ANSWER_BYTES} bytes`));
    this.#stream?.enqueue(bytes);
    if ((this.#stream?.desiredSize ?? 1) <= 0) controller.pause();
  }

  onResponseEnd(): void {
    this.#close();
    if (this.#refusal !== undefined) return this.#refuse(this.#refusal);
    if (this.failure === undefined) this.#stream?.close();
  }

  onResponseError(_: Controller, error: Error): void {
    this.#close();
    // A refusal is one however much of it came; an answer that broke off is none.
    if (this.#refusal !== undefined) return this.#refuse(this.#refusal);
    this.fail(this.answered ? streamCut(this.#provider) : new UpstreamError(error.message, { cause: error }));
  }

  #refuse(refusal: Body): void {
    try {
      refusal.end();
    } catch (error) {
      this.fail(error);
    }
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.end();
    this.#onClosed?.();
  }

  #tell(): void {
    const error = this.failure?.error;
    this.#head.reject(error);
    try {
      this.#stream?.error(error);
    } catch {
      // its reader has left
    }
  }
}

function late(timeoutMs: number): UpstreamError {
  const cause = Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
  return new UpstreamError(cause.message, { cause });
}
