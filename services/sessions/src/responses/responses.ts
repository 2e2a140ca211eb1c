import { ServiceError, subjects, type Principal, type Result, type ResponseState, type StatelessResult } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Clock } from '@switchyard/service-kit';
import type { KeyedTurnDocument } from '../model/keyed-turn-document.ts';
import { loadText } from '../model/stored-text.ts';
import type { StoredText } from '../model/text-document.ts';
import { turnCancelled } from '../turns/store/turn-errors.ts';
import { createFrameWriter, FINAL_FRAME } from '../frames/frame-publisher.ts';
import { completeRequest } from '../response-chain/chained-conversation.ts';
import { estimateLoadBytes } from '../response-chain/response-load.ts';
import type { ResponseChainDeps } from '../response-chain/response-segment.ts';
import { removeUnusedSegments } from '../response-chain/segment-removal.ts';
import { loadRequest, type StoredRequest } from '../response-chain/stored-request.ts';
import type { IdempotentTurns } from '../stateless/idempotent-turns.ts';
import { removeKeyedTurn } from '../storage/keyed-turn-removal.ts';
import type { LoadBudget } from '../sessions/load-budget.ts';
import type { FrameLogQuota } from '../frames/frame-log-quota.ts';
import type { RunningTurns } from '../turns/ending/running-turns.ts';
import { hasEnded } from '../model/turn-document.ts';

export interface ResponsesDeps extends ResponseChainDeps {
  bus: Bus;
  clock: Clock;
  shares: FrameLogQuota;
  runs: RunningTurns;
  /** The work of the responses. */
  once: Pick<IdempotentTurns, 'cancel'>;
}

const MAX_READS = 3;

export interface GetResponseOptions {
  turnId: string;
  /** Whether to return its conversation. */
  talk: boolean;
  signal: AbortSignal;
}

/** Returns the state of a response. Waits until the client may load it. Throws NOT_FOUND for a response of another client. */
export async function getResponse(
  deps: ResponseChainDeps & { loads: LoadBudget },
  principal: Principal,
  { turnId, talk, signal }: GetResponseOptions,
): Promise<Result<'responses.get'>> {
  const found = await find(deps, principal, turnId);
  using _held = await deps.loads.take(principal, estimateLoadBytes(found, talk), signal);
  const { state, request } = await getState(deps, principal, found);
  if (!talk) return state;
  const { turn, system } = await completeRequest(deps, principal, { document: found, request });
  const { message, images, history, since } = turn;
  const around = {
    ...(images === undefined ? {} : { images }),
    ...(history === undefined ? {} : { history }),
    ...(since === undefined ? {} : { since }),
  };
  return { ...state, talk: { message, ...around, ...(system === undefined ? {} : { system }) } };
}

/**
 * Ends a response with one guarded write from any replica. Its runner learns of it over the bus, or at the next lease renewal if the
 * message is lost. An ended response does not change.
 */
export async function cancelResponse(deps: ResponsesDeps, principal: Principal, turnId: string): Promise<ResponseState> {
  const there = await end(deps, principal, await find(deps, principal, turnId));
  return (await getState(deps, principal, there)).state;
}

/** Deletes a response and its text. Its segment of the conversation remains while another response continues from it. */
export async function deleteResponse(deps: ResponsesDeps, principal: Principal, turnId: string): Promise<Result<'responses.delete'>> {
  const ended = await end(deps, principal, await find(deps, principal, turnId));
  const { previous } = ended;
  const deleted = await removeKeyedTurn(deps, principal.tenant, ended);
  await removeUnusedSegments(deps, principal.tenant, turnId);
  if (previous !== undefined) await removeUnusedSegments(deps, principal.tenant, previous);
  return { deleted };
}

async function find(
  { kept, store }: Pick<ResponseChainDeps, 'kept' | 'store'>,
  principal: Principal,
  turnId: string,
): Promise<KeyedTurnDocument> {
  const [there] = (await kept.for(principal).find({ turnId }, { limit: 1 })).items;
  if (there?.client !== principal.client || there.request === undefined || there.forgetAt <= store.now())
    throw createUnknownResponseError();
  return there;
}

/** Ends the response if it is running and returns its final document. */
async function end(deps: ResponsesDeps, principal: Principal, found: KeyedTurnDocument): Promise<KeyedTurnDocument> {
  let there = found;
  for (let look = 0; look < MAX_READS && !hasEnded(there); look += 1) {
    const { turnId } = there;
    const { code, message, details } = turnCancelled();
    const failure = { code, message, details: { ...details, turnId } };
    const ended = await deps.once.cancel(principal.tenant, there, { failure, lastFrame: FINAL_FRAME, endedAt: deps.store.now() });
    if (ended) return publishEnd(deps, principal, ended);
    there = await find(deps, principal, turnId);
  }
  if (!hasEnded(there)) throw new ServiceError('UNAVAILABLE', 'The response could not be cancelled. Retry the request.');
  return there;
}

function publishEnd(deps: ResponsesDeps, { tenant }: Principal, ended: KeyedTurnDocument): KeyedTurnDocument {
  const { turnId, fence, failure } = ended;
  deps.runs.stop(turnId);
  deps.bus.publish(subjects.turnEnded, Buffer.from(JSON.stringify(turnId)));
  // The frame supersedes those of the lease holder.
  const frames = createFrameWriter(deps, { tenant, turnId, from: FINAL_FRAME, fence: fence + 1 });
  if (failure) frames.end({ type: 'error', error: failure });
  frames.close();
  return ended;
}

async function getState(
  deps: Pick<ResponseChainDeps, 'bodies'>,
  principal: Principal,
  turn: KeyedTurnDocument,
): Promise<{ state: ResponseState; request: StoredRequest }> {
  const bodies = deps.bodies.for(principal);
  const request = await loadRequest(bodies, turn);
  if (request === undefined) throw createUnknownResponseError();
  const read = async (said: StoredText | undefined): Promise<string | undefined> => said && loadText(bodies, turn.turnId, said);
  const [answer, text, pieces] = await Promise.all([turn.answer, turn.text, turn.pieces].map(read));
  const result = answer === undefined ? undefined : (JSON.parse(answer) as StatelessResult);
  const output = text ?? result?.response;
  const { turnId, head, endedAt, failure } = turn;
  const state: ResponseState = {
    turnId,
    state: turn.state,
    createdAt: head.created,
    echo: request.response.echo,
    ...(endedAt === undefined ? {} : { endedAt: Math.floor(endedAt / 1_000) }),
    ...(result === undefined ? {} : { result }),
    ...(output === undefined ? {} : { said: output }),
    ...(pieces === undefined ? {} : { pieces: JSON.parse(pieces) as number[] }),
    ...(failure === undefined ? {} : { failure }),
  };
  return { state, request };
}

function createUnknownResponseError(): ServiceError {
  return new ServiceError('NOT_FOUND', 'Response not found.', { details: { reason: 'NO_RESPONSE' } });
}
