import type { ServiceError, TurnFrame } from '@switchyard/contracts';
import { toServiceError } from '../turns/turn-errors.ts';
import { createJoinedText, type EventStream } from '../events/sse.ts';
import type { TurnListener } from '../turns/turn-reader.ts';

/**
 * Characters of accumulated text that are sent per millisecond, a quarter of a megabyte per second. Every event repeats the whole text so
 * far, so a longer text is sent in larger pieces. This keeps the cost of a long response linear instead of quadratic.
 */
const ACCUMULATED_PER_MS = 256;

export interface Renderer extends TurnListener {
  drained(): void;
}

export interface RendererOptions {
  turnId: string;
  /** The number of the last event that the client received. */
  after: number;
  /** Renders the payload of an error event. */
  fail: (error: ServiceError) => Record<string, unknown>;
}

/** Renders the frames of a turn as events. Text that the client already has counts towards `accumulated` and is not sent again. */
export function createRenderer(stream: EventStream, { turnId, after, fail }: RendererOptions): Renderer {
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

  /** Replaces the text so far, after another replica has taken over the turn or frames were lost. */
  function resume({ n, text: fullText }: TurnFrame & { type: 'resumed' }): void {
    if (n > after) text.flush();
    accumulated = fullText;
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
      if (frame.type === 'approval' && frame.n > after) {
        if (fresh !== '') text.add(fresh);
        fresh = '';
        text.flush();
        last = frame.n;
        const { requestId, action, question, options } = frame;
        stream.write(event('approval', { requestId, action, question, options }));
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
