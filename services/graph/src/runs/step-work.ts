import type { Bus } from '@switchyard/bus';
import { MAX, ServiceError, type StoredPrincipal, type TurnEndRecord } from '@switchyard/contracts';
import { findLostRights, toPrincipal } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import { createWork, type Lease, type Outcome, type RoomDocument, type Work } from '@switchyard/work';
import type { StepDocument } from '../documents/collections.ts';
import { noSpent } from '../engine/run-state.ts';
import type { StepOrder } from './step-order.ts';

/** The room of all steps of a tenant. */
export const STEP_ROOM = 'steps';
const MAX_CONCURRENT_STEPS = 64;
const MAX_ATTEMPTS = 20;
/** Delay before an order that failed for a passing reason is repeated. */
const ORDER_RETRY_MS = 2_000;
/** A step that could not be ordered for this long has failed. */
const ORDER_TIMEOUT_MS = 3_600_000;
/** A step whose wake-up was lost asks for the end of its turn: first soon, because a short turn may end before its id is stored. */
const MIN_TURN_POLL_INTERVAL_MS = 250;
const MAX_TURN_POLL_INTERVAL_MS = 15_000;

export interface StepWorkDeps {
  steps: Collection<StepDocument>;
  rooms: Collection<RoomDocument>;
  bus: Bus;
  owner: string;
  now: () => number;
  log: { warn(fields: object, message: string): void };
  /** Steps of one tenant that run at once: the setting `security.agentToAgent.graphMaxGlobalSubAgents`. */
  maxSteps: () => number;
  /** Counts the wake-ups by the sessions service. */
  countWakes: () => number;
  /** Makes a run read the ends of its steps. */
  wakeRun: (tenant: string, runId: string) => Promise<void>;
}

/**
 * Orders the turn of each step and records how it ended. A step holds a slot of its tenant from the order to the end of the turn. While
 * the turn runs, the step is parked and no process holds it.
 */
export function createStepWork(deps: StepWorkDeps): Work<StepDocument> {
  const { steps, rooms, owner, now, log, maxSteps } = deps;
  return createWork<StepDocument>({
    documents: steps,
    rooms: { documents: rooms, resolve: () => ({ key: STEP_ROOM, max: maxSteps() }) },
    owner,
    now,
    log,
    capacity: () => MAX_CONCURRENT_STEPS,
    run: (lease) => runStep(deps, lease),
    poison: {
      maxAttempts: MAX_ATTEMPTS,
      outcome: () => ({ end: 'failed', set: { ...closed(now()), error: 'the step failed too often; see the log of the graph service' } }),
    },
  });
}

async function runStep(deps: StepWorkDeps, lease: Lease<StepDocument>): Promise<Outcome<StepDocument>> {
  const { finishedAt, turnId } = lease.document;
  // The replica that stored the end died before it woke the run.
  if (finishedAt !== undefined) return endStep(deps, lease);
  return turnId === undefined ? orderTurn(deps, lease) : collectEnd(deps, lease, turnId);
}

async function orderTurn(deps: StepWorkDeps, lease: Lease<StepDocument>): Promise<Outcome<StepDocument>> {
  const { document: step, tenant } = lease;
  try {
    const lost = await findLostRights(deps.bus, { service: 'graph', tenant, principal: step.principal, action: 'executed this graph' });
    if (lost !== undefined) return await finish(deps, lease, { text: '', error: lost, permanent: true });
    if (!lease.isHeld()) return { parkUntil: deps.now(), keepSlot: true };
    const wakes = deps.countWakes();
    const turnId = await sendOrder(deps.bus, tenant, step);
    const parked = await recordTurn(deps, lease, turnId);
    // A turn that ended before its id was stored is not in the sweep of its wake-up.
    return deps.countWakes() === wakes ? parked : { parkUntil: deps.now(), keepSlot: true };
  } catch (error) {
    if (!(error instanceof ServiceError) || lease.signal.aborted) throw error;
    const late = deps.now() - step.createdAt > ORDER_TIMEOUT_MS;
    if (error.retryable && !late) return { parkUntil: deps.now() + (error.details.retryAfterMs ?? ORDER_RETRY_MS) };
    return finish(deps, lease, { text: '', error: error.message, permanent: !error.retryable });
  }
}

/** Cancels the turn of a step that was cancelled while the turn was ordered, because the canceller did not know the turn. */
async function recordTurn(deps: StepWorkDeps, lease: Lease<StepDocument>, turnId: string): Promise<Outcome<StepDocument>> {
  const { document: step, tenant } = lease;
  const startedAt = deps.now();
  try {
    await lease.persist(() => lease.write({ set: { turnId, turnPending: true, startedAt } }));
  } catch (error) {
    const stored = await deps.steps.for({ tenant }).get(step.stepId);
    if (stored?.state === 'cancelled') await cancelTurn(deps.bus, tenant, step.principal, turnId);
    throw error;
  }
  return awaitTurn(deps, startedAt);
}

/** Parks a step until its turn has ended. The longer the turn takes, the less often the step asks. */
function awaitTurn({ now }: StepWorkDeps, startedAt: number): Outcome<StepDocument> {
  const at = now();
  const delayMs = Math.min(Math.max(at - startedAt, MIN_TURN_POLL_INTERVAL_MS), MAX_TURN_POLL_INTERVAL_MS);
  return { parkUntil: at + delayMs, keepSlot: true };
}

/** Cancels a turn; a turn that no longer exists is ignored. */
export async function cancelTurn(bus: Bus, tenant: string, principal: StoredPrincipal, turnId: string): Promise<void> {
  try {
    await bus.as(toPrincipal(tenant, principal)).call('turns.cancel', { turnId });
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'NOT_FOUND')) throw error;
  }
}

/** Orders the turn of a step and returns its id. A repeated order returns the same turn. */
async function sendOrder(bus: Bus, tenant: string, { stepId, runId, principal, order }: StepDocument): Promise<string> {
  const { threadId, ...request } = order as StepOrder;
  const { agentId } = request;
  const { turnId } = await bus.as(toPrincipal(tenant, principal)).call('turns.order', {
    ...request,
    session: { userId: `graph:${runId}`, threadId, ...(agentId === undefined ? {} : { agentId }) },
    idempotencyKey: stepId,
    kind: 'graph',
    origin: { service: 'graph', ref: stepId },
  });
  return turnId;
}

async function collectEnd(deps: StepWorkDeps, lease: Lease<StepDocument>, turnId: string): Promise<Outcome<StepDocument>> {
  const { document: step, tenant } = lease;
  const { turns } = await deps.bus.as(toPrincipal(tenant, step.principal)).call('turns.ends', { turnIds: [turnId] });
  const [turn] = turns;
  if (!turn) return finish(deps, lease, { text: '', error: 'the turn of this step no longer exists', permanent: false });
  if (turn.state === 'queued' || turn.state === 'running') return awaitTurn(deps, step.startedAt ?? deps.now());
  return finish(deps, lease, describeTurnEnd(turn));
}

type StepResult = Pick<StepDocument, 'text' | 'error' | 'permanent' | 'spent'>;

/** Translates the end of a turn into the end of its step. */
function describeTurnEnd({ state, result, failure, usage }: TurnEndRecord): StepResult {
  const spent = usage && {
    tokens: usage.input + usage.output,
    costUsd: usage.costUsd,
    cacheRead: usage.cacheRead,
    cacheWrite: usage.cacheWrite,
  };
  const text = result?.response.slice(0, MAX.text) ?? '';
  if (state === 'done') return { text, ...(spent && { spent }) };
  const error = (failure?.message ?? `the turn was ${state}`).slice(0, MAX.line);
  return { text, error, permanent: false, ...(spent && { spent }) };
}

/** Stores the end before the run is woken, so that the run finds it. */
async function finish(deps: StepWorkDeps, lease: Lease<StepDocument>, result: StepResult): Promise<Outcome<StepDocument>> {
  await lease.persist(() => lease.write({ set: { ...closed(deps.now()), ...result } }));
  return endStep(deps, lease);
}

async function endStep(deps: StepWorkDeps, { tenant, document }: Lease<StepDocument>): Promise<Outcome<StepDocument>> {
  await deps.wakeRun(tenant, document.runId);
  return { end: document.error === undefined ? 'done' : 'failed' };
}

/** Returns the fields of an ended step. */
export function closed(finishedAt: number): Partial<StepDocument> {
  return { finishedAt, turnPending: undefined, order: undefined, text: '', spent: noSpent() };
}
