import { hash } from 'node:crypto';
import type { TurnFailure } from '@switchyard/contracts';
import { DAY_MS, type SessionDocument, type TurnDocument } from '../data.ts';
import { keep, type Bodies } from '../turns/bodies.ts';
import type { EarlierMessage, EarlierTurn } from './earlier-data.ts';

/** Turns of an earlier version as they are now. */

/** Of a session that knew none: the same for whoever migrates it, and that of no other session, because turns are found by it alone. */
export function epochOf(sessionKey: string): string {
  return `earlier-${hash('sha256', sessionKey, 'base64url')}`;
}

async function common(bodies: Bodies, turn: EarlierTurn, question: string): Promise<TurnDocument> {
  const { turnId, sessionKey, agentId, client, scopes, sessions, idempotencyKey, fingerprint, state, attempts, steps } = turn;
  const { costUsd, lastFrame, createdAt, startedAt, finishedAt, failure } = turn;
  return {
    turnId,
    sessionKey,
    agentId,
    message: await keep(bodies, turnId, question),
    client,
    scopes,
    fingerprint,
    state,
    fence: 0,
    attempts,
    steps: [],
    checkpoints: 0,
    tail: [],
    stepCount: steps.length,
    createdAt,
    ...(sessions === undefined ? {} : { sessions }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey, keyUntil: (finishedAt ?? createdAt) + DAY_MS }),
    ...(costUsd === undefined ? {} : { costUsd }),
    ...(lastFrame === undefined ? {} : { lastFrame }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(failure === undefined ? {} : { failure }),
  };
}

interface Exchange {
  question: string;
  answer: string;
  /** Which of its session's turns it is. */
  seq: number;
}

/** A turn of the history. */
export async function withAnswer(bodies: Bodies, turn: EarlierTurn, { question, answer, seq }: Exchange): Promise<TurnDocument> {
  const { turnId, result } = turn;
  return {
    ...(await common(bodies, turn, question)),
    state: 'done',
    answer: await keep(bodies, turnId, answer),
    tokensUsed: result?.tokensUsed ?? { input: 0, output: 0, total: 0 },
    finishReason: result?.finishReason ?? 'stop',
    seq,
    epoch: epochOf(turn.sessionKey),
  };
}

/** A turn that is nobody's history, or not yet. One that ran and had used tools cannot be gone on with: nothing says what they did. */
export async function withoutAnswer(bodies: Bodies, turn: EarlierTurn): Promise<TurnDocument> {
  const ended = turn.state !== 'queued' && turn.state !== 'running';
  if (ended) return forgotten(bodies, turn);
  const kept = await common(bodies, turn, turn.message);
  if (turn.steps.length === 0) return kept;
  const finishedAt = turn.startedAt ?? turn.createdAt;
  return { ...kept, state: 'failed', failure: interrupted(turn.turnId), finishedAt, forgetAt: finishedAt + DAY_MS };
}

/** One that has ended is kept for as long as it would have been. */
export async function forgotten(bodies: Bodies, turn: EarlierTurn): Promise<TurnDocument> {
  const { turnId, result, finishedAt } = turn;
  const kept = await common(bodies, turn, turn.message);
  const answered = result && {
    answer: await keep(bodies, turnId, result.response),
    tokensUsed: result.tokensUsed,
    finishReason: result.finishReason,
  };
  return { ...kept, ...answered, ...(finishedAt === undefined ? {} : { forgetAt: finishedAt + DAY_MS }) };
}

function interrupted(turnId: string): TurnFailure {
  const message = 'The process that ran this turn stopped before it was done.';
  return { code: 'UNAVAILABLE', message, details: { reason: 'INTERRUPTED', retryable: false, turnId } };
}

/** The turn of two messages that outlived it. */
export function madeOf({ key, agentId, createdBy }: SessionDocument, question: EarlierMessage, answer: EarlierMessage): EarlierTurn {
  return {
    turnId: question.turnId,
    sessionKey: key,
    seq: question.seq,
    agentId,
    message: question.content,
    client: createdBy ?? '',
    scopes: [],
    fingerprint: '',
    state: 'done',
    attempts: 1,
    steps: [],
    createdAt: question.timestamp,
    finishedAt: answer.timestamp,
  };
}
