import type { TurnFailure, TurnResult } from '@switchyard/contracts';
import { turnCollection, type TurnDocument } from '../../model/turn-document.ts';
import { testGuards, type GuardedWrite } from '../../storage/guarded-writes.fixture.ts';
import { commitAnswer, commitCancel, commitDropped, commitFailure, commitMerged, takeTurn, writeCheckpoint } from './turn-store.ts';

const NOW = 1_000;
const FENCE = 5;
const turnId = 'turn_guarded';
const text = { chars: 2, text: 'hi' };
const queued: TurnDocument = {
  turnId,
  sessionKey: 'default:test:gateway',
  agentId: 'default',
  message: text,
  client: 'test',
  scopes: ['*'],
  fingerprint: 'f',
  state: 'queued',
  fence: 0,
  attempts: 0,
  steps: [],
  checkpoints: 0,
  tail: [],
  createdAt: NOW,
};
const running: TurnDocument = { ...queued, state: 'running', fence: FENCE, attempts: 1, checkpoints: 1 };
const result: TurnResult = { response: 'hi', tokensUsed: { input: 1, output: 1, total: 2 }, finishReason: 'stop' };
const failure: TurnFailure = { code: 'UNAVAILABLE', message: 'the model failed' };
const ending = { turn: running, fence: FENCE, lastFrame: 1, now: NOW };
const answer = {
  result,
  answer: text,
  costUsd: 0,
  steps: 1,
  lastSeq: 0,
  epoch: 'e',
  warnings: [],
  captureMemory: false,
  autoContinue: false,
  isTainted: false,
};

/** A turn that has ended, and one that a later lease has taken. */
const state = { state: 'cancelled' } as const;
const fence = { fence: FENCE + 1 };
const checkpoints = { checkpoints: 3 };

const take = { turnId, fence: FENCE, attempts: 1, startedAt: NOW };
const step = { turnId, fence: FENCE, after: 1, frame: 1, entry: { mark: 'heard', count: 1 } };

const writes: GuardedWrite<TurnDocument>[] = [
  { name: 'take', document: queued, write: (turns) => takeTurn(turns, take), violations: { state, fence: { fence: FENCE } } },
  {
    name: 'take without a counted attempt',
    document: queued,
    write: (turns) => takeTurn(turns, { ...take, uncounted: true }),
    violations: { state, fence: { fence: FENCE }, attempts: { attempts: 1 } },
  },
  {
    name: 'checkpoint of a step',
    document: running,
    write: (turns) => writeCheckpoint(turns, step),
    violations: { state, fence, checkpoints },
  },
  {
    name: 'checkpoint of text',
    document: running,
    write: (turns) => writeCheckpoint(turns, { turnId, fence: FENCE, after: 1, frame: 1, text }),
    violations: { state, fence, checkpoints },
  },
  {
    name: 'checkpoint of a parked turn',
    document: running,
    write: (turns) => writeCheckpoint(turns, { ...step, parked: { requestId: 'appr_a', until: NOW, at: NOW } }),
    violations: { state, fence, checkpoints },
  },
  { name: 'answer', document: running, write: (turns) => commitAnswer(turns, ending, answer), violations: { state, fence } },
  {
    name: 'answer of a merged turn',
    document: running,
    write: (turns) => commitMerged(turns, ending, { lead: { ...running, turnId: 'turn_lead' }, answer: text }),
    violations: { state, fence },
  },
  { name: 'failure', document: running, write: (turns) => commitFailure(turns, ending, failure), violations: { state, fence } },
  {
    name: 'cancellation',
    document: running,
    write: (turns) => commitCancel(turns, { ...ending, failure: { code: 'CANCELLED', message: 'cancelled' } }),
    violations: { state: { state: 'done' } },
  },
  {
    name: 'drop from a full queue',
    document: queued,
    write: (turns) => commitDropped(turns, { ...ending, failure }),
    violations: { state, fence: { fence: 1 }, attempts: { attempts: 1 } },
  },
];

testGuards(async (store) => (await store.open({ turns: turnCollection })).turns, 'turnId', writes);
