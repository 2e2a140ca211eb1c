import { STATUS_CODES } from 'node:http';
import type { Dispatcher } from 'undici';
import { createFinishDetector } from './finish-detector.ts';
import type { Attempt } from '../model/adapter.ts';
import { createErrorBody, createUnstreamedBody, type Body } from '../http/error-body.ts';
import { ProtocolError } from '../errors/protocol-error.ts';
import { convertDecodingError } from '../http/content-encoding.ts';
import { streamCut } from '../errors/provider-errors.ts';
import { UpstreamError } from '../errors/upstream-error.ts';

const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
/** Maximum buffered bytes. Above it the socket is paused until the reader catches up. */
const MAX_BUFFERED_BYTES = 256 * 1024;
/** Time after the finish reason for the end of the stream, which some providers do not send. */
const END_TIMEOUT_MS = 1_000;

type Controller = Dispatcher.DispatchController;
type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

export interface NativeExchangeOptions {
  provider: string;
  attempt: Attempt;
  /** Timeout until the response starts. */
  timeoutMs: number;
}

/** One request of the AI SDK and its response. */
export class NativeExchange implements Dispatcher.DispatchHandler {
  readonly attempt: Attempt;
  /** Resolves with the response when its head is received. */
  readonly response: Promise<Response>;
  /** The original error, which the SDK wraps. */
  failure: { error: unknown } | undefined;
  /** Whether the response head was received. */
  hasHead = false;
  readonly #provider: string;
  readonly #head = Promise.withResolvers<Response>();
  readonly #timeoutMs: number;
  #timer: NodeJS.Timeout | undefined;
  #onClosed: (() => void) | undefined;
  #controller: Controller | undefined;
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  #refusal: Body | undefined;
  readonly #finish = createFinishDetector(MAX_RESPONSE_BYTES);
  #endTimer: NodeJS.Timeout | undefined;
  #ended = false;
  #bytes = 0;
  #closed = false;

  constructor({ provider, attempt, timeoutMs }: NativeExchangeOptions) {
    this.attempt = attempt;
    this.#provider = provider;
    this.response = this.#head.promise;
    this.response.catch(() => undefined); // it may reject before the SDK awaits it
    this.#timeoutMs = timeoutMs;
    attempt.signal.addEventListener('abort', this.#left, { once: true });
    if (attempt.signal.aborted) this.#left();
  }

  /** Starts the timeout when a connection is available. `onClosed` releases the connection. */
  onConnected(onClosed: () => void): void {
    this.#onClosed = onClosed;
    this.#timer = setTimeout(() => this.fail(timeoutError(this.#timeoutMs)), this.#timeoutMs);
  }

  /** Fails the exchange. The first error is kept. */
  fail(error: unknown): void {
    this.failure ??= { error };
    this.#tell();
    this.end();
  }

  /** Ends the exchange and closes the connection if it is still open. */
  end(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#endTimer);
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
    this.hasHead = true;
    clearTimeout(this.#timer);
    this.attempt.onAlive();
    if (status >= 300) {
      this.#refusal = createErrorBody({ status, statusText: statusText || (STATUS_CODES[status] ?? ''), headers });
      return;
    }
    const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers;
    if (encoding !== 'identity') return this.fail(new ProtocolError('responded with an unsupported encoding'));
    if (/^(application\/json|text\/html)\b/i.test(String(type))) {
      this.#refusal = createUnstreamedBody(String(type));
      return;
    }
    const body = new ReadableStream<Uint8Array>(
      {
        start: (stream) => void (this.#stream = stream),
        pull: () => controller.resume(),
        cancel: () => {
          this.#ended = true;
          this.end();
        },
      },
      { highWaterMark: MAX_BUFFERED_BYTES, size: (bytes) => bytes?.byteLength ?? 0 },
    );
    this.#head.resolve(new Response(body, { status, headers: { 'content-type': String(type) } }));
  }

  onResponseData(controller: Controller, bytes: Buffer): void {
    if (this.failure !== undefined || this.#ended) return;
    this.attempt.onAlive();
    if (this.#refusal !== undefined) return this.#refusal.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes > MAX_RESPONSE_BYTES) return this.fail(new ProtocolError(`sent more than ${MAX_RESPONSE_BYTES} bytes`));
    this.#stream?.enqueue(bytes);
    this.#finish.push(bytes);
    if (this.#finish.closingEvents !== undefined) this.#endTimer ??= setTimeout(() => this.#endStream(), END_TIMEOUT_MS);
    if ((this.#stream?.desiredSize ?? 1) <= 0) controller.pause();
  }

  onResponseEnd(): void {
    this.#close();
    if (this.#refusal !== undefined) return this.#refuse(this.#refusal);
    if (this.failure === undefined) this.#endStream();
  }

  onResponseError(_: Controller, error: Error): void {
    this.#close();
    // An incomplete error body is sufficient; an incomplete response is a failure.
    if (this.#refusal !== undefined) return this.#refuse(this.#refusal);
    if (!this.hasHead) return this.fail(new UpstreamError(error.message, { cause: error }));
    // An answer with a finish reason is complete, even if its end was cut.
    if (this.#finish.closingEvents !== undefined && this.failure === undefined) return this.#endStream();
    this.fail(convertDecodingError(error) ?? streamCut(this.#provider));
  }

  /** Ends the stream, with the events that the SDK needs to end the answer. */
  #endStream(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { closingEvents = '' } = this.#finish;
    if (closingEvents !== '') this.#stream?.enqueue(Buffer.from(closingEvents));
    this.#stream?.close();
    this.end();
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
      // the reader has cancelled the stream
    }
  }
}

function timeoutError(timeoutMs: number): UpstreamError {
  const cause = Object.assign(new Error(`no response within ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
  return new UpstreamError(cause.message, { cause });
}
