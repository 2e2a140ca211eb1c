import { ServiceError, type KeyedTurn, type Principal, type Result } from '@switchyard/contracts';
import { createLeases, newWork, type Lease } from '@switchyard/service-kit';
import type { Collection, Documents } from '@switchyard/store';
import type { KeptDocument } from '../model/keyed-turn-document.ts';
import { textOf } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { DAY_MS, RESPONSE_MS } from '../model/retention.ts';
import { formatSessionKey } from '../model/session-key.ts';
import { poisoned } from '../turns/store/turn-errors.ts';
import { createOnceRuns, interrupted, isFree, type OnceCaller, type OnceRunsDeps } from './idempotent-turn-runs.ts';
import { callerOf, keepRequest, requestOf } from './stored-request.ts';
import { hasEnded } from '../model/turn-document.ts';

/** Stateless turns that are made once for their key. What is kept of one is its answer, for a day; of a response also what was asked. */
export interface Once extends AsyncDisposable {
  /** Begins the turn, unless its key has one. Fails as the turn would before it began, and the key is free again then. */
  start(asked: KeyedTurn, caller: OnceCaller): Promise<Result<'turns.once'>>;
  /** How far one is, for the client that asked for it. */
  status(principal: Principal, turnId: string): Promise<Result<'turns.resume'> | undefined>;
}

export interface OnceDeps extends OnceRunsDeps {
  kept: Collection<KeptDocument>;
  owner: string;
  leaseMs: number;
  renewMs: number;
  /** How often is looked for turns whose runner is gone. */
  lookMs: number;
}

/** How often a key is looked at anew that somebody else gave up or took meanwhile. */
const MOST_LOOKS = 5;
const MOST_ATTEMPTS = 5;
const SWEPT_AT_ONCE = 100;

export function createOnce(deps: OnceDeps): Once {
  const { kept, store, owner, leaseMs, renewMs, log } = deps;
  const leases = createLeases({ documents: kept, owner, now: store.now, leaseMs, renewMs, log });
  const runs = createOnceRuns(deps);

  /** Of two who claim a turn one runs it; the other one reads along. */
  async function runIfMine(there: KeptDocument, asked: KeyedTurn, caller: OnceCaller): Promise<void> {
    if (hasEnded(there)) return;
    const lease = await leases.claim(caller.principal.tenant, { key: there.key, turnId: there.turnId });
    if (!lease) return;
    const over = endOfInterrupted(lease);
    if (over) await runs.fail(lease, over);
    else await runs.begin(lease, asked, caller);
  }

  /** Responses that nobody runs any more are run again. Other turns end, so that whoever waits is told, and may ask again. */
  async function sweep(): Promise<void> {
    for (let swept = 0; swept < SWEPT_AT_ONCE; swept += 1) {
      const lease = (await leases.claim(null, { state: 'running' })) ?? (await leases.claim(null, { rerun: true, state: 'queued' }));
      if (!lease) return;
      await pickUp(lease);
    }
  }

  async function pickUp(lease: Lease<KeptDocument>): Promise<void> {
    const { document, tenant } = lease;
    const request = await requestOf(deps.bodies.for(lease), document);
    const over = endOfInterrupted(lease);
    if (over || !request) return runs.fail(lease, over ?? interrupted(document));
    const caller = { principal: callerOf(tenant, document, request), requestId: request.requestId, traceparent: undefined };
    await runs.begin(lease, request.turn, caller).catch((err: unknown) => {
      log.info({ err, turnId: document.turnId, errorKind: 'internal', hint: 'the response failed, and says so' }, 'response not run again');
    });
  }

  const stop = deps.clock.every(deps.lookMs, () => {
    sweep().catch((err: unknown) => log.warn({ err, errorKind: 'dependency', hint: 'it is tried again in a moment' }, 'sweep failed'));
  });

  return {
    async start(asked, caller) {
      const mine = kept.for(caller.principal);
      const key = `${caller.principal.client} ${asked.idempotencyKey}`;
      for (let look = 0; look < MOST_LOOKS; look += 1) {
        const there = (await mine.get(key)) ?? (await insert(mine, await newTurn(deps.bodies, asked, { key, caller, now: store.now() })));
        if (!there) continue;
        if (isFree(there, store.now())) {
          await mine.remove({ key, turnId: there.turnId, fence: there.fence });
          continue;
        }
        if (there.fingerprint !== asked.fingerprint) throw mismatch(there.turnId);
        await runIfMine(there, asked, caller);
        return { turnId: there.turnId, head: there.head };
      }
      throw new ServiceError('ABORTED', 'Others ask under this idempotency key at this moment; try again.');
    },

    async status(principal, turnId) {
      const [there] = (await kept.for(principal).find({ turnId }, { limit: 1 })).items;
      if (there?.client !== principal.client || there.forgetAt <= store.now()) return undefined;
      return statusOf(deps.bodies.for(principal), principal.tenant, there);
    },

    async [Symbol.asyncDispose]() {
      stop();
      await runs[Symbol.asyncDispose]();
    },
  };
}

/** Why a turn must not be run again that somebody ran before; undefined when it may. */
function endOfInterrupted({ document }: Lease<KeptDocument>): ServiceError | undefined {
  if (document.acted) return interrupted(document);
  return document.attempts > MOST_ATTEMPTS ? poisoned(MOST_ATTEMPTS) : undefined;
}

interface Asking {
  key: string;
  caller: OnceCaller;
  now: number;
}

async function newTurn(bodies: Collection<BodyDocument>, given: KeyedTurn, { key, caller, now }: Asking): Promise<KeptDocument> {
  const { turnId, fingerprint, head, response } = given;
  const { principal, requestId } = caller;
  const forgetAt = now + (response === undefined ? DAY_MS : RESPONSE_MS);
  const asked = await keepRequest(bodies.for(principal), given, { principal, requestId, forgetAt });
  const kept = { ...newWork(), key, turnId, client: principal.client, fingerprint, head, acted: false, forgetAt };
  return asked === undefined ? kept : { ...kept, asked, rerun: true };
}

/** Undefined when somebody else was first. */
async function insert(mine: Documents<KeptDocument>, turn: KeptDocument): Promise<KeptDocument | undefined> {
  try {
    return await mine.insert(turn);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') return undefined;
    throw error;
  }
}

function mismatch(turnId: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', 'This idempotency key was used for another request.', {
    details: { reason: 'IDEMPOTENCY_MISMATCH', turnId },
  });
}

async function statusOf(bodies: Documents<BodyDocument>, tenant: string, turn: KeptDocument): Promise<Result<'turns.resume'>> {
  const { turnId, state, fence, lastFrame, answer, text, failure, head } = turn;
  const sessionKey = formatSessionKey({ tenant, userId: 'openai-api', channelId: 'openai', peerId: head.id });
  const status = { turnId, sessionKey, state, ...(lastFrame === undefined ? {} : { lastFrame }), ...(failure ? { failure } : {}) };
  if (!answer || lastFrame === undefined) return status;
  const result = JSON.parse(await textOf(bodies, turnId, answer)) as NonNullable<Result<'turns.resume'>['result']>;
  return { ...status, result, soFar: { text: text ? await textOf(bodies, turnId, text) : result.response, frame: lastFrame, fence } };
}
