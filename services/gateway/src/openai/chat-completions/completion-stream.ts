import { ServiceError, type StatelessResult } from '@switchyard/contracts';
import type { ServerResponse } from 'node:http';
import type { Caller } from '../../request/caller.ts';
import type { Edge } from '../../http/edge.ts';
import { FORWARDED_RESPONSES, createWriteBatch } from '../../http/write-batch.ts';
import type { Exchange } from '../../http/exchange.ts';
import { createCompletionChunks, DONE, type CompletionHead } from './completion-chunks.ts';
import { createErrorFrame } from '../openai-errors.ts';
import { beginEventStream, createJoinedText, type EventStream } from '../../events/sse.ts';

/** A streamed completion, which `finish` or `fail` ends. */
export interface CompletionStream {
  text(text: string): void;
  finish(result: StatelessResult): void;
  /** Ends the stream with an error frame and no finish chunk, so that the client does not take the text for complete. */
  fail(error: unknown): void;
}

export interface CompletionStreamOptions {
  edge: Pick<Edge, 'tokens'>;
  exchange: Pick<Exchange, 'logAccess' | 'logFailure'>;
  caller: Caller;
  response: ServerResponse;
  head: CompletionHead;
  /** Whether to send a usage chunk before the end. */
  includeUsage: boolean;
  /** The headers of every response, as alternating names and values. */
  headers: readonly string[];
}

/** Frames from one read of the bus are sent to each client in one write. */
const scheduleFlush = createWriteBatch<Batch>(FORWARDED_RESPONSES, (batch) => batch.flush());

/** Sends status 200 and the first chunk. */
export function openCompletionStream(options: CompletionStreamOptions): CompletionStream {
  const { edge, exchange, caller, response, head, includeUsage, headers } = options;
  const chunks = createCompletionChunks(head);
  response.once('finish', () => exchange.logAccess());
  const stream = beginEventStream(response, headers, {
    first: chunks.role,
    isAuthorized: () => edge.tokens.mayStream(caller),
    onDrain: () => text.drained(),
    onClose: () => undefined,
  });
  const batch = new Batch(stream);
  const text = createJoinedText(stream, { send: (joined) => batch.add(chunks.content(joined)) });

  return {
    text: (piece) => text.add(piece),
    finish(result) {
      text.flush();
      for (const chunk of chunks.providerFields(result)) batch.add(chunk);
      for (const chunk of chunks.toolCalls(result)) batch.add(chunk);
      batch.add(chunks.finish(result));
      if (includeUsage) batch.add(chunks.usage(result));
      batch.end(DONE);
    },
    fail(error) {
      text.flush();
      const serviceError = error instanceof ServiceError ? error : new ServiceError('INTERNAL', 'Internal error', { cause: error });
      exchange.logFailure(serviceError);
      batch.add(createErrorFrame(serviceError));
      batch.end(DONE);
    },
  };
}

/** Collects events and writes them together. */
class Batch {
  readonly #stream: EventStream;
  #events = '';

  constructor(stream: EventStream) {
    this.#stream = stream;
  }

  add(event: string): void {
    if (this.#events === '') scheduleFlush(this);
    this.#events += event;
  }

  flush(): void {
    const events = this.#events;
    if (events === '') return;
    this.#events = '';
    this.#stream.write(events);
  }

  end(event: string): void {
    this.#stream.end(this.#events + event);
    this.#events = '';
  }
}
