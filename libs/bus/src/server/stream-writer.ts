import type { ServiceError } from '@switchyard/contracts';
import { EMPTY, encodeJson } from '../wire/encoding.ts';
import { chunkTooLarge, encodeError, errorHeaders, tooLarge } from '../wire/errors.ts';
import { SEQ, frameLines, headerBytes, headerLines, joinLines, type FrameKind, type HeaderLines } from '../wire/headers.ts';
import { putAnswer, refLines, type LargePayloads } from '../payloads/large-payloads.ts';
import { isLarge } from '../client/request.ts';
import { signalOf, type Running } from './active-call.ts';
import type { Wire } from '../client/bus-context.ts';

/** After so many frames in a row the event loop gets its turn, or nothing would ever leave. */
const BURST = 256;

export interface StreamOutcome {
  onError(error: unknown): ServiceError;
  check(value: unknown, kind: 'chunk' | 'result'): void;
}

/** Sends what a handler yields, in numbered frames, until it ends or nobody reads any more. Returns how it ended. */
export async function writeStream(
  wire: Wire,
  running: Running,
  generator: AsyncGenerator<unknown, unknown, void>,
  outcome: StreamOutcome,
): Promise<ServiceError | undefined> {
  const frames = createFrames(wire, running);
  const signal = signalOf(running);
  let burst = 0;
  running.send = (chunk) => sendChunk(wire, running, { frames, outcome, chunk });
  try {
    for (;;) {
      const step = await generator.next();
      if (signal.aborted) {
        await generator.return(undefined);
        return running.stopped;
      }
      const kind = step.done === true ? 'result' : 'chunk';
      outcome.check(step.value, kind);
      const data = encodeJson(step.value);
      if (isLarge(wire, data)) await sendLarge(wire, running, { frames, kind, data });
      else frames.send(kind, data);
      if (step.done === true) return undefined;
      if (++burst % BURST === 0) await nextTurn();
    }
  } catch (thrown) {
    const error = outcome.onError(thrown);
    frames.fail(error);
    return error;
  } finally {
    running.send = undefined;
    frames.end();
  }
}

interface Sending {
  frames: ReturnType<typeof createFrames>;
  outcome: StreamOutcome;
  chunk: unknown;
}

function sendChunk(wire: Wire, { method }: Running, { frames, outcome, chunk }: Sending): void {
  outcome.check(chunk, 'chunk');
  const data = encodeJson(chunk);
  if (isLarge(wire, data)) throw chunkTooLarge(method.callable, data.length, wire.inlineBytes);
  frames.send('chunk', data);
}

/** What comes piece by piece comes in pieces that fit a message; the result alone may be as large as any answer. */
async function sendLarge(
  { large, inlineBytes }: Wire,
  running: Running,
  { frames, kind, data }: { frames: ReturnType<typeof createFrames>; kind: FrameKind; data: Uint8Array },
): Promise<void> {
  if (kind !== 'result') throw chunkTooLarge(running.method.callable, data.length, inlineBytes);
  const blob = await putAnswer(large as LargePayloads, running.principal.tenant, { data, signal: signalOf(running) });
  frames.send(kind, EMPTY, refLines(blob, data.length));
}

function createFrames({ transport, streams }: Wire, running: Running) {
  let seq = 0;
  let sentAt = performance.now();

  const alive = setInterval(() => {
    if (performance.now() - sentAt >= streams.aliveMs) send('alive', EMPTY);
  }, streams.aliveMs / 2);

  function publish(data: Uint8Array, headers: HeaderLines): void {
    if (running.stopped !== undefined) return;
    const bytes = data.length + headerBytes(headers);
    if (bytes > transport.maxPayload)
      throw tooLarge(`A part of the answer of ${running.method.callable.name}`, bytes, transport.maxPayload);
    seq++;
    sentAt = performance.now();
    transport.publish({ subject: running.reply, data, headers });
  }

  function send(kind: FrameKind, data: Uint8Array, more?: HeaderLines): void {
    const lines = frameLines(seq, kind);
    publish(data, more === undefined ? lines : joinLines(lines, more));
  }

  return {
    send,
    fail: (error: ServiceError) => publish(encodeError(error), joinLines(headerLines([SEQ, String(seq)]), errorHeaders(error))),
    end: () => clearInterval(alive),
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
