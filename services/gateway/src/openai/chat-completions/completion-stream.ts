import { ServiceError, type StatelessResult } from '@switchyard/contracts';
import type { ServerResponse } from 'node:http';
import type { Caller } from '../../request/caller.ts';
import type { Edge } from '../../http/edge.ts';
import { FORWARDED_RESPONSES, createWriteBatch } from '../../http/write-batch.ts';
import type { Exchange } from '../../http/exchange.ts';
import { completionChunks, DONE, type CompletionHead } from './completion-chunks.ts';
import { errorFrame } from '../openai-errors.ts';
import { beginEventStream, createJoinedText, type EventStream } from '../../events/sse.ts';

/** A completion on its way to the client, chunk by chunk. It has one end. */
export interface CompletionStream {
  text(text: string): void;
  finish(result: StatelessResult): void;
  /** A failure ends it with an error frame and no finish chunk, so that no client takes a part for the whole. */
  fail(error: unknown): void;
}

export interface CompletionStreamOptions {
  edge: Pick<Edge, 'tokens'>;
  exchange: Pick<Exchange, 'logAccess' | 'logFailure'>;
  caller: Caller;
  response: ServerResponse;
  head: CompletionHead;
  /** The last chunk before the end says what was used. */
  includeUsage: boolean;
  /** Those that any answer has, names and values in turn. */
  headers: readonly string[];
}

/** Frames from one read of the bus are sent to each client in one write. */
const flushSoon = createWriteBatch<Batch>(FORWARDED_RESPONSES, (batch) => batch.flush());

/** Answers 200 and begins. */
export function openCompletionStream(options: CompletionStreamOptions): CompletionStream {
  const { edge, exchange, caller, response, head, includeUsage, headers } = options;
  const chunks = completionChunks(head);
  response.once('finish', () => exchange.logAccess());
  const stream = beginEventStream(response, headers, {
    first: chunks.role,
    admitted: () => edge.tokens.mayStream(caller),
    onDrain: () => text.drained(),
    onClose: () => undefined,
  });
  const batch = new Batch(stream);
  const text = createJoinedText(stream, { send: (joined) => batch.add(chunks.content(joined)) });

  return {
    text: (piece) => text.add(piece),
    finish(result) {
      text.flush();
      for (const chunk of chunks.toolCalls(result)) batch.add(chunk);
      batch.add(chunks.finish(result));
      if (includeUsage) batch.add(chunks.usage(result));
      batch.end(DONE);
    },
    fail(error) {
      text.flush();
      const known = error instanceof ServiceError ? error : new ServiceError('INTERNAL', 'Internal error', { cause: error });
      exchange.logFailure(known);
      batch.add(errorFrame(known));
      batch.end(DONE);
    },
  };
}

/** Events that are written together. */
class Batch {
  readonly #stream: EventStream;
  #events = '';

  constructor(stream: EventStream) {
    this.#stream = stream;
  }

  add(event: string): void {
    if (this.#events === '') flushSoon(this);
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
