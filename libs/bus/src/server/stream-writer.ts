import type { ServiceError } from '@switchyard/contracts';
import { EMPTY, encodeJson } from '../wire/encoding.ts';
import { chunkTooLargeError, encodeError, errorHeaders, payloadTooLargeError } from '../wire/errors.ts';
import { SEQ, formatFrameHeaders, measureHeaders, formatHeaders, joinHeaders, type FrameKind, type HeaderLines } from '../wire/headers.ts';
import { storeResult, formatPayloadHeader, type LargePayloads } from '../payloads/large-payloads.ts';
import { exceedsInlineLimit } from '../client/request.ts';
import { getSignal, type ActiveCall } from './active-call.ts';
import type { BusContext } from '../client/bus-context.ts';

/** Frames sent before the writer yields to the event loop, which flushes them. */
const FRAMES_PER_TURN = 256;

export interface StreamOutcome {
  onError(error: unknown): ServiceError;
  check(value: unknown, kind: 'chunk' | 'result'): void;
}

/** Sends the chunks of a handler as numbered frames until it ends or the caller leaves. Returns the error, if there was one. */
export async function writeStream(
  context: BusContext,
  call: ActiveCall,
  generator: AsyncGenerator<unknown, unknown, void>,
  outcome: StreamOutcome,
): Promise<ServiceError | undefined> {
  const frames = createFrameWriter(context, call);
  const signal = getSignal(call);
  let burst = 0;
  call.send = (chunk) => sendChunk(context, call, { frames, outcome, chunk });
  try {
    for (;;) {
      const step = await generator.next();
      if (signal.aborted) {
        await generator.return(undefined);
        return call.stopReason;
      }
      const kind = step.done === true ? 'result' : 'chunk';
      outcome.check(step.value, kind);
      const data = encodeJson(step.value);
      if (exceedsInlineLimit(context, data)) await sendLarge(context, call, { frames, kind, data });
      else frames.send(kind, data);
      if (step.done === true) return undefined;
      if (++burst % FRAMES_PER_TURN === 0) await nextTurn();
    }
  } catch (thrown) {
    const error = outcome.onError(thrown);
    frames.fail(error);
    return error;
  } finally {
    call.send = undefined;
    frames.end();
  }
}

interface ChunkToSend {
  frames: ReturnType<typeof createFrameWriter>;
  outcome: StreamOutcome;
  chunk: unknown;
}

function sendChunk(context: BusContext, { method }: ActiveCall, { frames, outcome, chunk }: ChunkToSend): void {
  outcome.check(chunk, 'chunk');
  const data = encodeJson(chunk);
  if (exceedsInlineLimit(context, data)) throw chunkTooLargeError(method.callable, data.length, context.inlineBytes);
  frames.send('chunk', data);
}

/** Chunks must fit a message. Only the result may use the payload store. */
async function sendLarge(
  { large, inlineBytes }: BusContext,
  call: ActiveCall,
  { frames, kind, data }: { frames: ReturnType<typeof createFrameWriter>; kind: FrameKind; data: Uint8Array },
): Promise<void> {
  if (kind !== 'result') throw chunkTooLargeError(call.method.callable, data.length, inlineBytes);
  const blob = await storeResult(large as LargePayloads, call.principal.tenant, { data, signal: getSignal(call) });
  frames.send(kind, EMPTY, formatPayloadHeader(blob, data.length));
}

function createFrameWriter({ transport, streams }: BusContext, call: ActiveCall) {
  let seq = 0;
  let sentAt = performance.now();

  const alive = setInterval(() => {
    if (performance.now() - sentAt >= streams.aliveMs) send('alive', EMPTY);
  }, streams.aliveMs / 2);

  function publish(data: Uint8Array, headers: HeaderLines): void {
    if (call.stopReason !== undefined) return;
    const bytes = data.length + measureHeaders(headers);
    if (bytes > transport.maxPayload)
      throw payloadTooLargeError(`A chunk of the result of ${call.method.callable.name}`, bytes, transport.maxPayload);
    seq++;
    sentAt = performance.now();
    transport.publish({ subject: call.reply, data, headers });
  }

  function send(kind: FrameKind, data: Uint8Array, more?: HeaderLines): void {
    const lines = formatFrameHeaders(seq, kind);
    publish(data, more === undefined ? lines : joinHeaders(lines, more));
  }

  return {
    send,
    fail: (error: ServiceError) => publish(encodeError(error), joinHeaders(formatHeaders([SEQ, String(seq)]), errorHeaders(error))),
    end: () => clearInterval(alive),
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
