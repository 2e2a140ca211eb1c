import type { ServerResponse } from 'node:http';
import type { CallHead, StreamSink } from '@switchyard/bus';
import { callables, ServiceError, type Callable, type StatelessResult, type TurnFrame } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Caller } from '../../request/caller.ts';
import type { Edge } from '../../http/edge.ts';
import type { CompletionRequest } from './completion-body.ts';
import type { CompletionStream } from './completion-stream.ts';
import { toServiceError } from '../../turns/turn-errors.ts';

const RUN = callables.get('turns.run') as Callable;

export interface RelayOptions {
  edge: Pick<Edge, 'bus'>;
  caller: Caller;
  turn: CompletionRequest['turn'];
  /** The ids for logs and traces. */
  ids: Pick<CallHead, 'requestId' | 'traceparent'>;
  response: ServerResponse;
  /** Starts the response at the first output. */
  begin: () => CompletionStream;
  /** Called if the turn fails before the first output, so that the failure can be sent as an HTTP status. */
  refuse: (error: unknown) => void;
}

/** Runs a turn for one streamed completion and passes its text on as it arrives. Closing the response cancels the turn. */
export function relayCompletion({ edge, caller, turn, ids, response, begin, refuse }: RelayOptions): void {
  const params = Buffer.from(JSON.stringify({ ...turn, turnId: mintId('turn') }));
  const head = { ...ids, principal: caller.encodedPrincipal, timeoutMs: RUN.deadlineMs };
  const cancel = edge.bus.forwardStream(RUN, params, head, createRelaySink(begin, refuse));
  response.once('close', () => void (response.writableFinished || cancel()));
  if (response.destroyed) cancel();
}

/** Reports a failure before the first output as an HTTP status, and a later one on the stream. */
function createRelaySink(begin: () => CompletionStream, refuse: (error: unknown) => void): StreamSink {
  let stream: CompletionStream | undefined;
  let ended = false;

  function fail(error: unknown): void {
    if (ended) return;
    ended = true;
    if (stream === undefined) refuse(error);
    else stream.fail(error);
  }

  function onFrame(frame: TurnFrame): void {
    if (frame.type === 'error') return fail(toServiceError(frame.error));
    if (frame.type === 'accepted' || frame.type === 'step') return;
    stream ??= begin();
    if (frame.type === 'delta') stream.text(frame.text);
  }

  return {
    chunk(data) {
      if (!ended) onFrame(parse(data) as TurnFrame);
    },
    end(result) {
      if (result instanceof ServiceError) return fail(result);
      if (ended) return;
      ended = true;
      (stream ??= begin()).finish(parse(result) as StatelessResult);
    },
  };
}

function parse(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
}
