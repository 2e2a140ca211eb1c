import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { ServiceError, TURNS_LOG, type AnswerHead, type Params, type StatelessResult, type TurnFrame } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { CallOptions } from '@switchyard/bus';
import type { Caller } from '../../request/caller.ts';
import type { Edge } from '../../http/edge.ts';
import type { CompletionRequest } from './completion-body.ts';
import { completionHead, type CompletionHead } from './completion-chunks.ts';
import { toServiceError, createShutdownError, createNotFollowedError } from '../../turns/turn-errors.ts';
import { followTurn } from '../../turns/turn-start.ts';
import { openTurnReader, type TurnListener, type TurnReader, type TurnStatus } from '../../turns/turn-reader.ts';

/** A completion that was asked for, by whom, and where its answer goes. */
export interface Asked extends Reader {
  completion: CompletionRequest;
}

/** The client that reads the answer. */
export interface Reader {
  caller: Caller;
  /** The ids under which it is found again. */
  ids: CallOptions;
  response: ServerResponse;
}

export type Step = IteratorResult<TurnFrame, StatelessResult>;

/** Gives the frames of a turn, one after the other, and its result. */
export type Run = () => Promise<Step>;

/** The turn of a key, for one of the requests that have it. */
export interface KeyedRun {
  head: CompletionHead;
  /** Whether it was begun for an earlier request. */
  replayed: boolean;
  run: Run;
}

/**
 * Starts or joins the turn of an idempotency key. The turn continues without its readers, and each reader receives it from the
 * beginning.
 */
export async function startKeyedRun(edge: Edge, asked: Asked, key: string): Promise<KeyedRun> {
  const { completion } = asked;
  const { model } = completion.turn;
  const { id, created } = completionHead(model);
  const turn = {
    ...completion.turn,
    turnId: mintId('turn'),
    idempotencyKey: key,
    fingerprint: digestOf(completion),
    head: { id, created },
  };
  const { head, replayed, run } = await startOnce(edge, asked, { ...turn, ...(completion.stream ? {} : { whole: true }) });
  return { head: { ...head, model }, replayed, run };
}

/** Tells one request from another. */
export function digestOf(asked: object): string {
  return createHash('sha256').update(JSON.stringify(asked)).digest('base64url');
}

/** A turn that is made once for its key, and read from its beginning. */
export interface OnceRun {
  /** Id of the turn, which differs from the requested id if the key already had a turn. */
  turnId: string;
  head: AnswerHead;
  replayed: boolean;
  run: Run;
}

export async function startOnce(edge: Edge, { caller, ids, response }: Reader, turn: Params<'turns.once'>): Promise<OnceRun> {
  const { turnId } = turn;
  const bus = edge.bus.as(caller.principal);
  await bus.log(TURNS_LOG); // frames are kept from the first on only if there is a log to keep them
  const fresh = openTurnReader({ bus, turnId, repeatable: true });
  try {
    const named = await bus.call('turns.once', turn, ids);
    const replayed = named.turnId !== turnId;
    if (replayed) fresh.close();
    const { reader, earlier } = replayed ? await followTurn(bus, named.turnId, ids) : { reader: fresh, earlier: undefined };
    return { ...named, replayed, run: readAlong(edge, { turnId: named.turnId, reader, earlier, response }) };
  } catch (error) {
    fresh.close();
    throw orEnded(error);
  }
}

/** A turn without an answer is not stored, and its key is free again. On `/v1` NOT_FOUND is used for models only. */
function orEnded(error: unknown): unknown {
  const ended = error instanceof ServiceError && error.code === 'NOT_FOUND' && error.details.reason !== 'MODEL_NOT_FOUND';
  return ended ? new ServiceError('UNAVAILABLE', 'The turn of this key ended without an answer; ask again.', { cause: error }) : error;
}

export interface Reading {
  turnId: string;
  reader: TurnReader;
  earlier: TurnStatus | undefined;
  response: ServerResponse;
}

/** Returns the frames of a turn as an iterator. Closing it ends the reading only. */
export function readAlong(edge: Pick<Edge, 'ending'>, { turnId, reader, earlier, response }: Reading): Run {
  const queue: Step[] = [];
  let failure: unknown;
  let wake = Promise.withResolvers<void>();
  const heard = createHearing();
  const fail = (error: unknown): void => {
    failure ??= error;
    wake.resolve();
  };
  const end = (): void => fail(createNotFollowedError(createShutdownError(turnId), { turnId, repeatable: true }));
  const listener: TurnListener = {
    frames(frames) {
      queue.push(...frames.flatMap(heard));
      wake.resolve();
    },
    lost: (error) => fail(orEnded(error)),
  };
  const leave = (): void => {
    reader.close();
    edge.ending.removeEventListener('abort', end);
    fail(new ServiceError('CANCELLED', 'The client left.'));
  };
  edge.ending.addEventListener('abort', end);
  response.once('close', leave);
  if (response.destroyed) leave();
  else reader.read(listener, earlier);
  return async () => {
    for (;;) {
      const step = queue.shift();
      if (step && !step.done && step.value.type === 'error') throw toServiceError(step.value.error);
      if (step) return step;
      if (failure !== undefined) throw failure;
      await wake.promise;
      wake = Promise.withResolvers();
    }
  };
}

/** Converts stored and live frames to steps. Text that is repeated after a takeover or from the store is emitted once. */
function createHearing(): (frame: TurnFrame) => Step[] {
  let said = '';
  let astray = false;
  const delta = (n: number, text: string): Step[] => {
    said += text;
    return text === '' ? [] : [{ done: false, value: { n, type: 'delta', text } }];
  };
  return (frame) => {
    if (frame.type === 'resumed') {
      astray = !frame.text.startsWith(said);
      return astray ? [] : delta(frame.n, frame.text.slice(said.length));
    }
    if (frame.type === 'delta') return astray ? [{ done: false, value: saidOtherwise(frame.n) }] : delta(frame.n, frame.text);
    if (frame.type === 'done') return [{ done: true, value: frame.result }];
    return [{ done: false, value: frame }];
  };
}

/** Sent text cannot be withdrawn, so the stream fails; a new request receives the whole answer. */
function saidOtherwise(n: number): TurnFrame {
  const error = {
    code: 'UNAVAILABLE',
    message: 'The answer was begun anew; ask again for the whole.',
    details: { reason: 'RESTARTED' },
  } as const;
  return { n, type: 'error', error };
}
