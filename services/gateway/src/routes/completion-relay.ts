import type { ServerResponse } from 'node:http';
import type { CallHead, StreamSink } from '@switchyard/bus';
import { callables, ServiceError, type Callable, type StatelessResult, type TurnFrame } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Caller } from '../admission/tokens.ts';
import type { Edge } from '../edge.ts';
import type { CompletionRequest } from './completion-body.ts';
import { writtenAs } from './completion-chunks.ts';
import type { CompletionStream } from './completion-stream.ts';
import { failureError } from './errors.ts';

const RUN = callables.get('turns.run') as Callable;
/** How the bytes of every piece begin, but for its number. */
const [N, DELTA] = [Buffer.from('{"n":'), Buffer.from(',"type":"delta","text":"')];
const [QUOTE, CLOSE_BRACE, ZERO, NINE] = [0x22, 0x7d, 0x30, 0x39] as const;

export interface RelayOptions {
  edge: Pick<Edge, 'bus'>;
  caller: Caller;
  turn: CompletionRequest['turn'];
  /** Under which it is found again. */
  ids: Pick<CallHead, 'requestId' | 'traceparent'>;
  response: ServerResponse;
  /** Begins the answer: something was said. */
  begin: () => CompletionStream;
  /** It failed before anything was said, so that it can still be told by a status. */
  refuse: (error: unknown) => void;
}

/** Runs a turn for one streamed completion: its text is handed on as it comes, and as it was written. Leaving the response cancels it. */
export function relayCompletion({ edge, caller, turn, ids, response, begin, refuse }: RelayOptions): void {
  const params = Buffer.from(JSON.stringify({ ...turn, turnId: mintId('turn') }));
  const head = { ...ids, principal: caller.encodedPrincipal, timeoutMs: RUN.deadlineMs };
  const leave = edge.bus.forwardStream(RUN, params, head, createRelay(begin, refuse));
  response.once('close', () => void (response.writableFinished || leave()));
  if (response.destroyed) leave();
}

/** Until the first byte of a response is out, a failure can still be a status. */
function createRelay(begin: () => CompletionStream, refuse: (error: unknown) => void): StreamSink {
  let stream: CompletionStream | undefined;
  let over = false;

  function fail(error: unknown): void {
    if (over) return;
    over = true;
    if (stream === undefined) refuse(error);
    else stream.fail(error);
  }

  function hear(frame: TurnFrame): void {
    if (frame.type === 'error') return fail(failureError(frame.error));
    if (frame.type === 'accepted' || frame.type === 'step') return;
    stream ??= begin();
    if (frame.type === 'delta') stream.text(writtenAs(frame.text));
  }

  return {
    chunk(data) {
      if (over) return;
      const written = writtenText(data);
      if (written === undefined) hear(parse(data) as TurnFrame);
      else (stream ??= begin()).text(written);
    },
    end(how) {
      if (how instanceof ServiceError) return fail(how);
      if (over) return;
      over = true;
      (stream ??= begin()).finish(parse(how) as StatelessResult);
    },
  };
}

/**
 * The text of a piece as its owner wrote it, without the quotes around it: of nearly all that comes this is all there is to know.
 * Undefined where it is no piece, or one that has to be read: in any other spelling, with more members, or with a quote in it.
 */
export function writtenText(frame: Uint8Array): string | undefined {
  const bytes = Buffer.isBuffer(frame) ? frame : Buffer.from(frame.buffer, frame.byteOffset, frame.length);
  if (!standsAt(bytes, N, 0)) return undefined;
  let at = N.length;
  while (isDigit(bytes[at])) at++;
  if (!standsAt(bytes, DELTA, at)) return undefined;
  const from = at + DELTA.length;
  const to = bytes.length - 2;
  if (bytes[to + 1] !== CLOSE_BRACE || bytes.indexOf(QUOTE, from) !== to) return undefined;
  return bytes.toString('utf8', from, to);
}

function standsAt(bytes: Buffer, what: Buffer, at: number): boolean {
  for (let i = 0; i < what.length; i++) if (bytes[at + i] !== what[i]) return false;
  return true;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function parse(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
}
