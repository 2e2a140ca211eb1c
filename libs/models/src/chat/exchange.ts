import type { Dispatcher } from 'undici';
import type { Ending, Delta } from '../model/adapter.ts';
import { streamCut } from '../errors/provider-errors.ts';
import { UpstreamError } from '../errors/upstream-error.ts';
import type { Body } from '../http/error-body.ts';
import { createBody } from './response-body.ts';
import { CompletionReader } from './completion-reader.ts';
import { convertDecodingError } from '../http/content-encoding.ts';
import { ProtocolError } from '../errors/protocol-error.ts';

const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
/** Maximum buffered characters. Above it the socket is paused until the reader catches up. */
const MAX_BUFFERED_CHARS = 256 * 1024;
/** Time after the finish reason for the usage and the end marker, which some providers do not send. */
const END_TIMEOUT_MS = 1_000;
/** Time for a complete response to close, so that its connection can be reused. */
const CLOSE_TIMEOUT_MS = 1_000;

type Controller = Dispatcher.DispatchController;
type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

export interface ExchangeOptions {
  provider: string;
  /** Whether a non-streaming response was requested. */
  nonStreaming: boolean;
  onAlive: () => void;
  /** Called once when the connection is free. */
  onClosed: () => void;
}

/** One request and its response. A class, because an instance is created for every call. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #completion = new CompletionReader();
  #controller: Controller | undefined;
  /** The reader of the body; undefined before the response head. */
  #body: Body | undefined;
  #bytes = 0;
  #failure: { error: unknown } | undefined;
  #closed = false;
  #left = false;
  #linger: NodeJS.Timeout | undefined;
  #endTimer: NodeJS.Timeout | undefined;
  /** Number of chunks with content when the end timer was started. */
  #contentChunks = 0;
  #wake: (() => void) | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** Whether the response head was received. */
  get hasHead(): boolean {
    return this.#body !== undefined;
  }

  /** Whether no more data will arrive. */
  get isOver(): boolean {
    return this.#closed || this.#completion.done || this.#failure !== undefined;
  }

  /** Takes the buffered deltas and resumes a paused socket. */
  take(): Delta[] {
    const pieces = this.#completion.takeDeltas();
    if (this.#controller?.paused === true) this.#controller.resume();
    return pieces;
  }

  /** Resolves when deltas are buffered or the exchange is over. */
  waitForData(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isOver || this.#completion.pendingChars > 0) resolve();
      else this.#wake = resolve;
    });
  }

  /** Returns the ending. Throws if the exchange failed. */
  getEnding(): Ending {
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#completion.getEnding();
  }

  /** Fails the exchange. The first error is kept. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#abort();
    this.#tell();
  }

  /** Releases the exchange. A complete response may close by itself; others are aborted. */
  release(): void {
    clearTimeout(this.#endTimer);
    if (this.#closed || this.#left) return;
    this.#left = true;
    if (this.#completion.done && this.#failure === undefined) this.#linger = setTimeout(() => this.#abort(), CLOSE_TIMEOUT_MS).unref();
    else this.#abort();
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#left || this.#failure !== undefined) this.#abort();
  }

  onResponseStart(_: Controller, status: number, headers: Headers, statusText = ''): void {
    if (status < 200) return;
    this.#options.onAlive();
    this.#guarded(() => {
      this.#body = createBody({ status, statusText, headers, nonStreaming: this.#options.nonStreaming, completion: this.#completion });
    });
  }

  onResponseData(controller: Controller, bytes: Buffer): void {
    if (this.#left || this.#failure !== undefined) return;
    this.#options.onAlive();
    this.#bytes += bytes.length;
    this.#guarded(() => {
      if (this.#bytes > MAX_RESPONSE_BYTES) throw new ProtocolError(`sent more than ${MAX_RESPONSE_BYTES} bytes`);
      this.#body?.push(bytes);
    });
    this.#startEndTimer();
    if (this.#completion.pendingChars > MAX_BUFFERED_CHARS) controller.pause();
    if (this.isOver || this.#completion.pendingChars > 0) this.#tell();
  }

  onResponseEnd(): void {
    if (!this.#left && this.#failure === undefined) this.#guarded(() => this.#body?.end());
    this.#close();
  }

  onResponseError(_: Controller, error: Error): void {
    // An incomplete error body is sufficient; an incomplete completion is a failure.
    if (this.#body?.isError === true && !this.#left) this.#guarded(() => this.#body?.end());
    // An answer with a finish reason is complete, even if its end was cut.
    if (!this.#completion.hasFinish) this.#failure ??= { error: this.#convertError(error) };
    this.#close();
  }

  #convertError(error: Error): unknown {
    if (this.#body === undefined) return new UpstreamError(error.message, { cause: error });
    return convertDecodingError(error) ?? streamCut(this.#options.provider);
  }

  /** Starts the timer after the finish reason. Content after it restarts the timer, because some providers repeat the reason in each chunk. */
  #startEndTimer(): void {
    if (!this.#completion.hasFinish || this.#completion.done) return;
    const { contentChunks } = this.#completion;
    if (this.#endTimer !== undefined && contentChunks === this.#contentChunks) return;
    clearTimeout(this.#endTimer);
    this.#endTimer = setTimeout(() => this.#endWithoutMarker(), END_TIMEOUT_MS);
    this.#contentChunks = contentChunks;
  }

  #endWithoutMarker(): void {
    this.#completion.done = true;
    this.#tell();
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.fail(error);
    }
  }

  #abort(): void {
    if (!this.#closed) this.#controller?.abort(new Error('left'));
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#linger);
    this.#options.onClosed();
    this.#tell();
  }

  #tell(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
