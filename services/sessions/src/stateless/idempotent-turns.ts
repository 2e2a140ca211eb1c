import { ServiceError, type KeyedTurn, type Principal, type Result } from '@switchyard/contracts';
import { createLeases, newWork, type Lease } from '@switchyard/service-kit';
import type { Documents } from '@switchyard/store';
import type { KeyedTurnDocument } from '../model/keyed-turn-document.ts';
import { loadText } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { DAY_MS, RESPONSE_TTL_MS } from '../model/retention.ts';
import { formatSessionKey } from '../model/session-key.ts';
import { turnPoisoned } from '../turns/store/turn-errors.ts';
import {
  createIdempotentTurnRuns,
  turnInterrupted,
  isKeyFree,
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
import { hasEnded } from '../model/turn-document.ts';

/** Stateless turns that run once per idempotency key. The answer is kept for a day; for responses the request is kept too. */
export interface IdempotentTurns extends AsyncDisposable {
  /** Starts the turn unless its key is in use. Throws the error of a turn that could not start; its key is then free. */
  start(requested: KeyedTurn, caller: TurnCaller): Promise<Result<'turns.once'>>;
  /** Returns the status of a turn to its client. */
  status(principal: Principal, turnId: string): Promise<Result<'turns.resume'> | undefined>;
}

export interface IdempotentTurnsDeps extends IdempotentTurnRunsDeps, Pick<ResponseChainDeps, 'segments'> {
  owner: string;
  leaseMs: number;
  renewMs: number;
  /** Poll interval for turns whose runner has died. */
  pollMs: number;
  loads: LoadBudget;
}

/** Attempts when other callers release or take the key concurrently. */
const MAX_KEY_ATTEMPTS = 5;
const MAX_ATTEMPTS = 5;
const SWEEP_BATCH_SIZE = 100;

export function createIdempotentTurns(deps: IdempotentTurnsDeps): IdempotentTurns {
  const { kept, store, owner, leaseMs, renewMs, log } = deps;
  const leases = createLeases({ documents: kept, owner, now: store.now, leaseMs, renewMs, log });
  const runs = createIdempotentTurnRuns(deps);

  /** Runs the turn if this caller acquires the lease. Otherwise the caller reads the frames of the lease holder. */
  async function runIfMine(existing: KeyedTurnDocument, requested: KeyedTurn, caller: TurnCaller): Promise<void> {
    if (hasEnded(existing)) return;
    const lease = await leases.claim(caller.principal.tenant, { key: existing.key, turnId: existing.turnId });
    if (!lease) return;
    const over = getInterruption(lease);
    if (over) await runs.fail(lease, over);
    else await runs.begin(lease, requested, caller);
  }

  /** Restarts abandoned responses. Ends other abandoned turns, so that their clients can retry. */
  async function sweep(): Promise<void> {
    for (let swept = 0; swept < SWEEP_BATCH_SIZE; swept += 1) {
      const lease = (await leases.claim(null, { state: 'running' })) ?? (await leases.claim(null, { rerun: true, state: 'queued' }));
      if (!lease) return;
      await resumeTurn(lease);
    }
  }

  async function resumeTurn(lease: Lease<KeyedTurnDocument>): Promise<void> {
    const { document, tenant } = lease;
    using _held = await deps.loads.take({ tenant, client: document.client }, estimateLoadBytes(document, true), lease.signal);
    const request = await loadRequest(deps.bodies.for(lease), document);
    const over = getInterruption(lease);
    if (over || !request) return runs.fail(lease, over ?? turnInterrupted(document));
    const { turn } = await completeRequest(deps, lease, { document, request });
    const caller = { principal: buildCaller(tenant, document, request), requestId: request.requestId, traceparent: undefined };
    await runs.begin(lease, turn, caller).catch((err: unknown) => {
      log.info(
        { err, turnId: document.turnId, errorKind: 'internal', hint: 'the response is marked as failed' },
        'failed to restart response',
      );
    });
  }

  const stop = deps.clock.every(deps.pollMs, () => {
    sweep().catch((err: unknown) => log.warn({ err, errorKind: 'dependency', hint: 'retrying in a moment' }, 'sweep failed'));
  });

  return {
    async start(params, caller) {
      const mine = kept.for(caller.principal);
      const key = `${caller.principal.client} ${params.idempotencyKey}`;
      for (let look = 0; look < MAX_KEY_ATTEMPTS; look += 1) {
        const current = (await mine.get(key)) ?? (await insertTurn(deps, params, { key, caller }));
        if (!current) continue;
        if (isKeyFree(current, store.now())) {
          await removeKeyedTurn(deps, caller.principal.tenant, current);
          continue;
        }
        if (current.fingerprint !== params.fingerprint) throw keyMismatch(current.turnId);
        await runIfMine(current, params, caller);
        return { turnId: current.turnId, head: current.head };
      }
      throw new ServiceError('ABORTED', 'Concurrent requests use this idempotency key. Retry the request.');
    },

    async status(principal, turnId) {
      const [there] = (await kept.for(principal).find({ turnId }, { limit: 1 })).items;
      if (there?.client !== principal.client || there.forgetAt <= store.now()) return undefined;
      return buildStatus(deps.bodies.for(principal), principal.tenant, there);
    },

    async [Symbol.asyncDispose]() {
      stop();
      await runs[Symbol.asyncDispose]();
    },
  };
}

/** Returns the error of a turn that must not be run again; undefined if it may. */
function getInterruption({ document }: Lease<KeyedTurnDocument>): ServiceError | undefined {
  if (document.toolsCalled) return turnInterrupted(document);
  return document.attempts > MAX_ATTEMPTS ? turnPoisoned(MAX_ATTEMPTS) : undefined;
}

interface NewTurnOptions {
  key: string;
  caller: TurnCaller;
}

/** Returns undefined if another caller was first. */
async function insertTurn(deps: IdempotentTurnsDeps, params: KeyedTurn, options: NewTurnOptions): Promise<KeyedTurnDocument | undefined> {
  const { principal } = options.caller;
  const mine = deps.kept.for(principal);
  deps.storage?.rejectIfFull(principal);
  const inserted = await insert(mine, await newTurn(deps, params, options));
  if (!inserted) {
    // A repeated call of the same turn uses the same texts.
    if ((await mine.get(options.key))?.turnId !== params.turnId) await deps.bodies.for(principal).remove({ turnId: params.turnId });
    return undefined;
  }
  deps.storage?.add(toOwner(principal), countResponseBytes(inserted));
  if (inserted.previous === undefined || (await addLink(deps, principal, inserted.previous))) return inserted;
  // The previous response was deleted after its chain was read.
  await removeKeyedTurn(deps, principal.tenant, inserted);
  throw unknownPrevious();
}

function toOwner({ tenant, client }: Principal): StorageOwner {
  return { tenant, client };
}

async function newTurn(deps: IdempotentTurnsDeps, params: KeyedTurn, { key, caller }: NewTurnOptions): Promise<KeyedTurnDocument> {
  const { turnId, fingerprint, head, response } = params;
  const { principal, requestId } = caller;
  const forgetAt = deps.store.now() + (response === undefined ? DAY_MS : RESPONSE_TTL_MS);
  const previous = response?.previous?.turnId;
  const chained = previous === undefined ? {} : { previous, chain: await openChain(deps, principal, previous) };
  const requested = await storeRequest(deps.bodies.for(principal), params, { principal, requestId, forgetAt });
  const kept = { ...newWork(), key, turnId, client: principal.client, fingerprint, head, toolsCalled: false, ...chained, forgetAt };
  return requested === undefined ? kept : { ...kept, request: requested, rerun: true };
}

/** Returns undefined if another caller was first. */
async function insert(mine: Documents<KeyedTurnDocument>, turn: KeyedTurnDocument): Promise<KeyedTurnDocument | undefined> {
  try {
    return await mine.insert(turn);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') return undefined;
    throw error;
  }
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
