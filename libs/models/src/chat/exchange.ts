import type { Dispatcher } from 'undici';
import type { Ending, Piece } from '../model/adapter.ts';
import { streamCut } from '../errors/provider-errors.ts';
import { UpstreamError } from '../errors/upstream-error.ts';
import type { Body } from '../http/error-body.ts';
import { createBody } from './response-body.ts';
import { CompletionReader } from './completion-reader.ts';
import { NotTheProtocol } from '../errors/protocol-error.ts';

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Characters nobody took yet; beyond, the socket is not read until somebody does. */
const MAX_WAITING = 256 * 1024;
/** How long an answer that is complete may take to end its response, so that its connection can be used again. */
const LINGER_MS = 1_000;

type Controller = Dispatcher.DispatchController;
type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

export interface ExchangeOptions {
  provider: string;
  /** Whether the answer was asked for in one piece. */
  whole: boolean;
  onAlive: () => void;
  /** Its connection is free again. Called once. */
  onClosed: () => void;
}

/** One request and what comes back. A class, because one is made for every call. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #completion = new CompletionReader();
  #controller: Controller | undefined;
  /** How the response is read; there is none before its head. */
  #body: Body | undefined;
  #bytes = 0;
  #failure: { error: unknown } | undefined;
  #closed = false;
  #left = false;
  #linger: NodeJS.Timeout | undefined;
  #wake: (() => void) | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** Whether the answer has begun, well or not. */
  get answered(): boolean {
    return this.#body !== undefined;
  }

  /** Whether there is nothing more to wait for. */
  get over(): boolean {
    return this.#closed || this.#completion.done || this.#failure !== undefined;
  }

  /** What came since it was last asked. */
  take(): Piece[] {
    const pieces = this.#completion.take();
    if (this.#controller?.paused === true) this.#controller.resume();
    return pieces;
  }

  /** Resolves when there is something to take, or nothing more to wait for. */
  more(): Promise<void> {
    return new Promise((resolve) => {
      if (this.over || this.#completion.waiting > 0) resolve();
      else this.#wake = resolve;
    });
  }

  /** How it ended; throws what it failed with. */
  ending(): Ending {
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#completion.ending();
  }

  /** Ends it with an error. The first one counts. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#abort();
    this.#tell();
  }

  /** Nobody reads any more. What is complete may end by itself; anything else is broken off. */
  leave(): void {
    if (this.#closed || this.#left) return;
    this.#left = true;
    if (this.#completion.done && this.#failure === undefined) this.#linger = setTimeout(() => this.#abort(), LINGER_MS).unref();
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
      this.#body = createBody({ status, statusText, headers, whole: this.#options.whole, completion: this.#completion });
    });
  }

  onResponseData(controller: Controller, bytes: Buffer): void {
    if (this.#left || this.#failure !== undefined) return;
    this.#options.onAlive();
    this.#bytes += bytes.length;
    this.#guarded(() => {
      if (this.#bytes > MAX_ANSWER_BYTES) throw new NotTheProtocol(`sent more than ${MAX_ANSWER_BYTES} bytes`);
      this.#body?.push(bytes);
    });
    if (this.#completion.waiting > MAX_WAITING) controller.pause();
    if (this.over || this.#completion.waiting > 0) this.#tell();
  }

  onResponseEnd(): void {
    if (!this.#left && this.#failure === undefined) this.#guarded(() => this.#body?.end());
    this.#close();
  }

  onResponseError(_: Controller, error: Error): void {
    // A refusal is one however much of it came; a completion that broke off is none.
    if (this.#body?.refusal === true && !this.#left) this.#guarded(() => this.#body?.end());
    this.#failure ??= {
      error: this.#body === undefined ? new UpstreamError(error.message, { cause: error }) : streamCut(this.#options.provider),
    };
    this.#close();
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
