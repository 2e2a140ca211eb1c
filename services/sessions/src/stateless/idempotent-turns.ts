import { ServiceError, type KeyedTurn, type Principal, type Result } from '@switchyard/contracts';
import type { Documents } from '@switchyard/store';
import { createWork, type Fields, type Lease, type LeaseTiming, type Outcome, type Work } from '@switchyard/work';
import { newKeyedTurn, type KeyedTurnDocument } from '../model/keyed-turn-document.ts';
import { loadText } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { DAY_MS, RESPONSE_TTL_MS } from '../model/retention.ts';
import { formatSessionKey } from '../model/session-key.ts';
import { turnPoisoned } from '../turns/store/turn-errors.ts';
import {
  createIdempotentTurnRuns,
  turnInterrupted,
  toTurnError,
  isKeyFree,
  type RequestedRun,
  type TurnCaller,
  type IdempotentTurnRunsDeps,
} from './idempotent-turn-runs.ts';
import { completeRequest } from '../response-chain/chained-conversation.ts';
import { addLink, openChain, unknownPrevious, type ResponseChainDeps } from '../response-chain/response-segment.ts';
import { countResponseBytes } from '../storage/stored-bytes.ts';
import type { StorageOwner } from '../storage/storage-quota.ts';
import { estimateLoadBytes } from '../response-chain/response-load.ts';
import type { LoadBudget } from '../sessions/load-budget.ts';
import { removeKeyedTurn } from '../storage/keyed-turn-removal.ts';
import { buildCaller, storeRequest, loadRequest } from '../response-chain/stored-request.ts';

/** Stateless turns that run once per idempotency key. The answer is kept for a day; for responses the request is kept too. */
export interface IdempotentTurns extends AsyncDisposable {
  /** Starts the turn unless its key is in use. Throws the error of a turn that could not start; its key is then free. */
  start(requested: KeyedTurn, caller: TurnCaller): Promise<Result<'turns.once'>>;
  /** Returns the status of a turn to its client. */
  status(principal: Principal, turnId: string): Promise<Result<'turns.resume'> | undefined>;
  /** Ends a turn as cancelled. Returns null if it has ended or another turn has its key. */
  cancel(tenant: string, turn: KeyedTurnDocument, set: Fields<KeyedTurnDocument>): Promise<KeyedTurnDocument | null>;
}

export interface IdempotentTurnsDeps extends IdempotentTurnRunsDeps, Pick<ResponseChainDeps, 'segments'> {
  owner: string;
  timing?: LeaseTiming;
  loads: LoadBudget;
}

/** Attempts when other callers release or take the key concurrently. */
const MAX_KEY_ATTEMPTS = 5;
const MAX_ATTEMPTS = 5;
/** Time that a shutdown waits for running turns, and for the writes of those that it stops. */
const FINISH_MS = 5_000;
const DRAIN_MS = FINISH_MS + 1_000;
/** Abandoned turns that run at once on this replica. */
const CAPACITY = 100;

export function createIdempotentTurns(deps: IdempotentTurnsDeps): IdempotentTurns {
  const { kept, store, owner, clock, timing, log } = deps;
  const runs = createIdempotentTurnRuns(deps);
  const work = createWork<KeyedTurnDocument>({
    documents: kept,
    owner,
    now: () => store.now(),
    clock,
    capacity: () => CAPACITY,
    run: resumeTurn,
    // A run ends its turn itself after too many attempts, and notifies the readers.
    poison: { maxAttempts: Infinity, outcome: () => ({ end: 'failed' }) },
    ...(timing ? { timing } : {}),
    drainMs: DRAIN_MS,
    log,
  });

  /** Runs a turn for its caller, who waits for the start. */
  async function startTurn(lease: Lease<KeyedTurnDocument>, request: RequestedRun): Promise<Outcome<KeyedTurnDocument>> {
    const { previous } = lease.document;
    try {
      // The previous response may have been deleted after its chain was read.
      if (previous !== undefined && !(await addLink(deps, lease, previous))) return await runs.refuse(lease, request, unknownPrevious());
      return await runs.run(lease, request);
    } catch (error) {
      request.started.reject(toTurnError(lease, error));
      throw error;
    }
  }

  /** Restarts an abandoned response. Ends another abandoned turn, so that its client can retry. */
  async function resumeTurn(lease: Lease<KeyedTurnDocument>): Promise<Outcome<KeyedTurnDocument>> {
    const { document, tenant } = lease;
    const over = getInterruption(lease);
    if (over || document.request === undefined) return runs.fail(lease, over ?? turnInterrupted(document));
    const held = await deps.loads.take({ tenant, client: document.client }, estimateLoadBytes(document, true), lease.signal);
    const started = Promise.withResolvers<void>();
    void started.promise.catch(() => undefined).finally(() => held[Symbol.dispose]());
    try {
      const request = await loadRequest(deps.bodies.for(lease), document);
      if (!request) return await runs.fail(lease, turnInterrupted(document));
      const { turn } = await completeRequest(deps, lease, { document, request });
      const caller = { principal: buildCaller(tenant, document, request), requestId: request.requestId, traceparent: undefined };
      return await runs.run(lease, { request: turn, caller, started });
    } finally {
      started.resolve();
    }
  }

  work.startDue();

  return {
    async start(params, caller) {
      const mine = kept.for(caller.principal);
      const key = `${caller.principal.client} ${params.idempotencyKey}`;
      for (let look = 0; look < MAX_KEY_ATTEMPTS; look += 1) {
        const current = await mine.get(key);
        if (!current) {
          if (await insertTurn(deps, { params, key, caller }, { work, startTurn })) return { turnId: params.turnId, head: params.head };
          continue;
        }
        if (isKeyFree(current, store.now())) {
          await removeKeyedTurn(deps, caller.principal.tenant, current);
          continue;
        }
        if (current.fingerprint !== params.fingerprint) throw keyMismatch(current.turnId);
        return { turnId: current.turnId, head: current.head };
      }
      throw new ServiceError('ABORTED', 'Concurrent requests use this idempotency key. Retry the request.');
    },

    async status(principal, turnId) {
      const [there] = (await kept.for(principal).find({ turnId }, { limit: 1 })).items;
      if (there?.client !== principal.client || there.forgetAt <= store.now()) return undefined;
      return buildStatus(deps.bodies.for(principal), principal.tenant, there);
    },

    cancel: (tenant, { key, turnId }, set) => work.cancel(tenant, key, set, { turnId }),

    async [Symbol.asyncDispose]() {
      using _stopping = runs.stopAfter(FINISH_MS);
      await work[Symbol.asyncDispose]();
    },
  };
}

/** Returns the error of a turn that must not be run again; undefined if it may. */
function getInterruption({ document }: Lease<KeyedTurnDocument>): ServiceError | undefined {
  if (document.toolsCalled) return turnInterrupted(document);
  return document.attempts > MAX_ATTEMPTS ? turnPoisoned(MAX_ATTEMPTS) : undefined;
}

interface NewTurnOptions {
  params: KeyedTurn;
  key: string;
  caller: TurnCaller;
}

interface Starter {
  work: Work<KeyedTurnDocument>;
  startTurn: (lease: Lease<KeyedTurnDocument>, request: RequestedRun) => Promise<Outcome<KeyedTurnDocument>>;
}

/** Inserts the turn and runs it on this replica. Resolves once it has started, with false if another caller was first. Throws its refusal. */
async function insertTurn(deps: IdempotentTurnsDeps, options: NewTurnOptions, { work, startTurn }: Starter): Promise<boolean> {
  const { caller, params, key } = options;
  const { principal } = caller;
  deps.storage?.rejectIfFull(principal);
  const turn = await newTurn(deps, options);
  const { fingerprint, turnId } = turn;
  const started = Promise.withResolvers<void>();
  const runHere = (lease: Lease<KeyedTurnDocument>) => startTurn(lease, { request: params, caller, started });
  const isNew = await work.add(principal, turn, { fingerprint, runHere }).then(({ existed }) => !existed, isKeyTaken);
  if (!isNew) {
    // A repeated call of the same turn uses the same texts.
    if ((await deps.kept.for(principal).get(key))?.turnId !== turnId) await deps.bodies.for(principal).remove({ turnId });
    return false;
  }
  deps.storage?.add(toOwner(principal), countResponseBytes(turn));
  await started.promise;
  return true;
}

/** Returns false for a key that another turn has or had a moment ago. That turn may be over, so that its key is free. */
function isKeyTaken(error: unknown): false {
  const isTaken = error instanceof ServiceError && (error.code === 'ABORTED' || error.details.reason === 'IDEMPOTENCY_MISMATCH');
  if (isTaken) return false;
  throw error;
}

function toOwner({ tenant, client }: Principal): StorageOwner {
  return { tenant, client };
}

async function newTurn(deps: IdempotentTurnsDeps, { params, key, caller }: NewTurnOptions): Promise<KeyedTurnDocument> {
  const { turnId, fingerprint, head, response } = params;
  const { principal, requestId } = caller;
  const forgetAt = deps.store.now() + (response === undefined ? DAY_MS : RESPONSE_TTL_MS);
  const previous = response?.previous?.turnId;
  const chained = previous === undefined ? {} : { previous, chain: await openChain(deps, principal, previous) };
  const request = await storeRequest(deps.bodies.for(principal), params, { principal, requestId, forgetAt });
  const kept = { ...newKeyedTurn(), key, turnId, client: principal.client, fingerprint, head, toolsCalled: false, ...chained, forgetAt };
  return request === undefined ? kept : { ...kept, request };
}

function keyMismatch(turnId: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', 'This idempotency key was used for another request.', {
    details: { reason: 'IDEMPOTENCY_MISMATCH', turnId },
  });
}

async function buildStatus(bodies: Documents<BodyDocument>, tenant: string, turn: KeyedTurnDocument): Promise<Result<'turns.resume'>> {
  const { turnId, state, fence, lastFrame, answer, text, failure, head } = turn;
  const sessionKey = formatSessionKey({ tenant, userId: 'openai-api', channelId: 'openai', peerId: head.id });
  const status = { turnId, sessionKey, state, ...(lastFrame === undefined ? {} : { lastFrame }), ...(failure ? { failure } : {}) };
  if (!answer || lastFrame === undefined) return status;
  const result = JSON.parse(await loadText(bodies, turnId, answer)) as NonNullable<Result<'turns.resume'>['result']>;
  return { ...status, result, soFar: { text: text ? await loadText(bodies, turnId, text) : result.response, frame: lastFrame, fence } };
}
