import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { ServiceError, TURNS_LOG, type AnswerHead, type Params, type StatelessResult, type TurnFrame } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { CallOptions } from '@switchyard/bus';
import type { Caller } from '../../request/caller.ts';
import type { Edge } from '../../http/edge.ts';
import type { CompletionRequest } from './completion-body.ts';
import { createCompletionHead, type CompletionHead } from './completion-chunks.ts';
import { toServiceError, createShutdownError, createNotFollowedError } from '../../turns/turn-errors.ts';
import { followTurn } from '../../turns/turn-start.ts';
import { openTurnReader, type TurnListener, type TurnReader, type TurnStatus } from '../../turns/turn-reader.ts';

/** A completion request and the client that receives the response. */
export interface KeyedCompletionOptions extends ResponseClient {
  completion: CompletionRequest;
  /** Whether the client may receive fields that strict clients do not. */
  lenient: boolean;
}

/** The client that receives a response. */
export interface ResponseClient {
  caller: Caller;
  /** The ids for logs and traces. */
  ids: CallOptions;
  response: ServerResponse;
}

export type Step = IteratorResult<TurnFrame, StatelessResult>;

/** Returns the next frame of a turn, and its result at the end. */
export type NextStep = () => Promise<Step>;

/** The completion of an idempotency key, as one request reads it. */
export interface KeyedCompletion {
  head: CompletionHead;
  /** Whether an earlier request started the turn. */
  replayed: boolean;
  nextStep: NextStep;
}

/**
 * Starts or joins the turn of an idempotency key. The turn continues without its clients, and each client receives it from the first frame.
 */
export async function startKeyedCompletion(edge: Edge, options: KeyedCompletionOptions, key: string): Promise<KeyedCompletion> {
  const { completion, lenient } = options;
  const { model } = completion.turn;
  const { id, created } = createCompletionHead(completion, lenient);
  const turn = {
    ...completion.turn,
    turnId: mintId('turn'),
    idempotencyKey: key,
    fingerprint: hashRequest(completion),
    head: { id, created },
  };
  const { head, replayed, nextStep } = await startKeyedTurn(edge, options, { ...turn, ...(completion.stream ? {} : { whole: true }) });
  return { head: { ...head, model, lenient, customTools: completion.customTools }, replayed, nextStep };
}

/** Returns the fingerprint of a request. A key cannot be used for requests with different fingerprints. */
export function hashRequest(request: object): string {
  return createHash('sha256').update(JSON.stringify(request)).digest('base64url');
}

/** The turn of an idempotency key, read from its first frame. */
export interface KeyedTurn {
  /** Id of the turn, which differs from the requested id if the key already had a turn. */
  turnId: string;
  head: AnswerHead;
  replayed: boolean;
  nextStep: NextStep;
}

export async function startKeyedTurn(
  edge: Edge,
  { caller, ids, response }: ResponseClient,
  turn: Params<'turns.once'>,
): Promise<KeyedTurn> {
  const { turnId } = turn;
  const bus = edge.bus.as(caller.principal);
  await bus.log(TURNS_LOG); // the log must exist before the first frame
  const fresh = openTurnReader({ bus, turnId, repeatable: true });
  try {
    const accepted = await bus.call('turns.once', turn, ids);
    const replayed = accepted.turnId !== turnId;
    if (replayed) fresh.close();
    const { reader, earlier } = replayed ? await followTurn(bus, accepted.turnId, ids) : { reader: fresh, earlier: undefined };
    return { ...accepted, replayed, nextStep: createStepReader(edge, { turnId: accepted.turnId, reader, earlier, response }) };
  } catch (error) {
    fresh.close();
    throw toTurnEndedError(error);
  }
}

/**
 * Converts NOT_FOUND of a turn that ended without a result, because NOT_FOUND on `/v1` always means the model. The key can be used again.
 */
function toTurnEndedError(error: unknown): unknown {
  const isTurnGone = error instanceof ServiceError && error.code === 'NOT_FOUND' && error.details.reason !== 'MODEL_NOT_FOUND';
  return isTurnGone
    ? new ServiceError('UNAVAILABLE', 'The turn of this key ended without a result. Retry the request.', { cause: error })
    : error;
}

export interface StepReaderOptions {
  turnId: string;
  reader: TurnReader;
  earlier: TurnStatus | undefined;
  response: ServerResponse;
}

/** Returns the frames of a turn one by one. A disconnect stops the reader and not the turn. */
export function createStepReader(edge: Pick<Edge, 'ending'>, { turnId, reader, earlier, response }: StepReaderOptions): NextStep {
  const queue: Step[] = [];
  let failure: unknown;
  let wake = Promise.withResolvers<void>();
  const toSteps = createStepConverter();
  const fail = (error: unknown): void => {
    failure ??= error;
    wake.resolve();
  };
  const end = (): void => fail(createNotFollowedError(createShutdownError(turnId), { turnId, repeatable: true }));
  const listener: TurnListener = {
    frames(frames) {
      queue.push(...frames.flatMap(toSteps));
      wake.resolve();
    },
    lost: (error) => fail(toTurnEndedError(error)),
  };
  const onDisconnect = (): void => {
    reader.close();
    edge.ending.removeEventListener('abort', end);
    fail(new ServiceError('CANCELLED', 'The client disconnected.'));
  };
  edge.ending.addEventListener('abort', end);
  response.once('close', onDisconnect);
  if (response.destroyed) onDisconnect();
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
function createStepConverter(): (frame: TurnFrame) => Step[] {
  let sentText = '';
  let diverged = false;
  const delta = (n: number, text: string): Step[] => {
    sentText += text;
    return text === '' ? [] : [{ done: false, value: { n, type: 'delta', text } }];
  };
  return (frame) => {
    if (frame.type === 'resumed') {
      diverged = !frame.text.startsWith(sentText);
      return diverged ? [] : delta(frame.n, frame.text.slice(sentText.length));
    }
    if (frame.type === 'delta') return diverged ? [{ done: false, value: createRestartedFrame(frame.n) }] : delta(frame.n, frame.text);
    if (frame.type === 'done') return [{ done: true, value: frame.result }];
    return [{ done: false, value: frame }];
  };
}

/** Creates the error for a turn that restarted with different text. Sent text cannot be withdrawn, so the stream fails. */
function createRestartedFrame(n: number): TurnFrame {
  const error = {
    code: 'UNAVAILABLE',
    message: 'The turn was restarted with different text. Repeat the request to get the complete response.',
    details: { reason: 'RESTARTED' },
  } as const;
  return { n, type: 'error', error };
}
