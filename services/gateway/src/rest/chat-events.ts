import type { ServiceError, TurnFrame } from '@switchyard/contracts';
import { toServiceError } from '../turns/turn-errors.ts';
import { createJoinedText, type EventStream } from '../events/sse.ts';
import type { TurnListener } from '../turns/turn-reader.ts';

/**
 * Every event repeats the whole text so far. So that a long answer costs a multiple of its length and not its square, no more than so
 * many characters of it go out in a millisecond: the longer the text, the larger the pieces it grows by. A quarter of a megabyte a second.
 */
const ACCUMULATED_PER_MS = 256;

export interface Renderer extends TurnListener {
  drained(): void;
}

export interface Rendering {
  turnId: string;
  /** The number of the last event the client has. */
  after: number;
  /** Renders the payload of an error event. */
  fail: (error: ServiceError) => Record<string, unknown>;
}

/** Renders the frames of a turn as events. Text that the client already has counts towards `accumulated` and is not sent again. */
export function createRenderer(stream: EventStream, { turnId, after, fail }: Rendering): Renderer {
  let accumulated = '';
  let last = Math.max(after, 0);
  const event = (name: string, data: unknown): string => `id: ${turnId}:${last}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  const text = createJoinedText(stream, {
    send: (delta) => stream.write(event('token', { delta, accumulated })),
    pauseMs: () => accumulated.length / ACCUMULATED_PER_MS,
  });

  function finish(name: string, data: unknown, n: number): void {
    text.flush();
    last = n;
    stream.end(event(name, data));
  }

  /** Another runner continues the turn, or frames were lost: this text replaces everything so far. */
  function resume({ n, text: said }: TurnFrame & { type: 'resumed' }): void {
    if (n > after) text.flush();
    accumulated = said;
    if (n <= after) return;
    last = n;
    stream.write(event('resumed', { accumulated }));
  }

  function render(frames: readonly TurnFrame[]): void {
    let fresh = '';
    for (const frame of frames) {
      if (frame.type === 'resumed') {
        resume(frame);
        fresh = '';
      }
      if (frame.type !== 'delta') continue;
      accumulated += frame.text;
      if (frame.n <= after) continue;
      fresh += frame.text;
      last = frame.n;
    }
    if (fresh !== '') text.add(fresh);
  }

  return {
    frames(frames) {
      render(frames);
      const end = frames.at(-1);
      if (end?.type === 'done') {
        const { response, tokensUsed, finishReason } = end.result;
        finish('done', { response, tokensUsed, finishReason }, end.n);
      } else if (end?.type === 'error') finish('error', fail(toServiceError(end.error)), end.n);
    },
    lost: (error) => finish('error', fail(error), last),
    drained: () => text.drained(),
  };
}
