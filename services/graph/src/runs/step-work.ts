import type { Bus } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { findLostRights, type Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import { createWork, type Lease, type Outcome, type RoomDocument, type Work } from '@switchyard/work';
import type { StepDocument } from '../documents/collections.ts';
import { noSpent } from '../engine/run-state.ts';
import { announceApproval, describeVerdict, orderApproval, readApproval, withdrawApproval } from './approval-step.ts';
import { recordStepWait } from './run-metrics.ts';
import { cancelTurn, orderTurn, readTurn, type StepResult } from './turn-step.ts';

/** The room of all steps of a tenant. */
export const STEP_ROOM = 'steps';
/** The room of all requests for approval of a tenant. */
const APPROVAL_ROOM = 'approvals';
const MAX_CONCURRENT_STEPS = 64;
const MAX_ATTEMPTS = 20;
/** Attempts to cancel the turn of a step that failed too often. */
const MAX_CANCEL_ATTEMPTS = 20;
const FAILED_TOO_OFTEN = 'the step failed too often; see the log of the graph service';
/** Delay before an order that failed for a passing reason is repeated. */
const ORDER_RETRY_MS = 2_000;
/** A step that could not be ordered for this long has failed. */
const ORDER_TIMEOUT_MS = 3_600_000;
/** A step whose wake-up was lost asks for its end: first soon, because a short turn may end before its id is stored. */
const MIN_TURN_POLL_INTERVAL_MS = 250;
const MAX_TURN_POLL_INTERVAL_MS = 15_000;
/** A turn is awaited for this long before its step is parked. */
const SHORT_TURN_MS = 200;

export interface StepWorkDeps {
  steps: Collection<StepDocument>;
  rooms: Collection<RoomDocument>;
  bus: Bus;
  owner: string;
  /** Timers of the leases and polls; those of the system by default. */
  clock?: Clock;
  now: () => number;
  log: { warn(fields: object, message: string): void };
  /** Steps of one tenant that run at once: the setting `security.agentToAgent.graphMaxGlobalSubAgents`. */
  maxSteps: () => number;
  /** Ids of the steps whose turns are awaited here, so that a sweep leaves them out. */
  awaited: Set<string>;
  /** Counts the wake-ups by the sessions service. */
  countWakes: () => number;
  /** Makes a run read the ends of its steps. */
  wakeRun: (tenant: string, runId: string) => Promise<void>;
}

/**
 * Orders the turn or the approval of each step and records how it ended. A step holds a slot of its tenant from the order to the end of the turn. While
 * the turn runs, the step is parked and no process holds it.
 */
export function createStepWork(deps: StepWorkDeps): Work<StepDocument> {
  const { steps, rooms, owner, now, log, maxSteps, clock } = deps;
  return createWork<StepDocument>({
    documents: steps,
    rooms: {
      documents: rooms,
      // Nothing works while a person decides, so that a request takes no slot of the steps.
      resolve: ({ question }) => (question ? { key: APPROVAL_ROOM, max: MAX_CONCURRENT_STEPS } : { key: STEP_ROOM, max: maxSteps() }),
    },
    owner,
    now,
    ...(clock && { clock }),
    log,
    capacity: () => MAX_CONCURRENT_STEPS,
    run: (lease) => runStep(deps, lease),
    poison: {
      maxAttempts: MAX_ATTEMPTS + MAX_CANCEL_ATTEMPTS,
      outcome: (step) =>
        step.finishedAt === undefined ? { end: 'failed', set: { ...closed(now()), error: FAILED_TOO_OFTEN } } : describeStoredEnd(step),
    },
  });
}

async function runStep(deps: StepWorkDeps, lease: Lease<StepDocument>): Promise<Outcome<StepDocument>> {
  const { document: step, tenant } = lease;
  // The replica that stored the end died before it woke the run.
  if (step.finishedAt !== undefined) return endStep(deps, lease);
  if (step.attempts > MAX_ATTEMPTS) return giveUp(deps, lease);
  if (!isOrdered(step)) return startStep(deps, lease);
  const result = await readResult(deps, tenant, step);
  return result ? finish(deps, lease, result) : awaitEnd(deps, step);
}

/** Ends a step whose runs failed too often. Its turn ends first, because it would run on without a slot. */
async function giveUp(deps: StepWorkDeps, lease: Lease<StepDocument>): Promise<Outcome<StepDocument>> {
  await cancelOrder(deps.bus, lease.tenant, lease.document);
  return finish(deps, lease, { text: '', error: FAILED_TOO_OFTEN });
}

type OrderIds = Pick<StepDocument, 'turnId' | 'requestId'>;

function isOrdered({ turnId, requestId }: OrderIds): boolean {
  return turnId !== undefined || requestId !== undefined;
}

/** Returns how the turn or the request of a step ended; undefined while it has not ended or the service that runs it is unavailable. */
async function readResult({ bus }: StepWorkDeps, tenant: string, step: StepDocument): Promise<StepResult | undefined> {
  const { turnId, requestId = '' } = step;
  try {
    if (turnId !== undefined) return await readTurn(bus, tenant, step, { turnId });
    return describeVerdict(await readApproval(bus, tenant, step, requestId));
  } catch (error) {
    // The turn may run on, so that an outage neither counts as an attempt nor frees the slot. The timeout of the node bounds the wait.
    if (error instanceof ServiceError && error.retryable) return undefined;
    throw error;
  }
}

async function startStep(deps: StepWorkDeps, lease: Lease<StepDocument>): Promise<Outcome<StepDocument>> {
  const { document: step, tenant } = lease;
  try {
    const lost = await findLostRights(deps.bus, { service: 'graph', tenant, principal: step.principal, action: 'executed this graph' });
    if (lost !== undefined) return await finish(deps, lease, { text: '', error: lost, permanent: true });
    if (!lease.isHeld()) return { parkUntil: deps.now(), keepSlot: true };
    if (!step.question) recordStepWait(deps.now() - step.createdAt);
    const wakes = deps.countWakes();
    const ids = await sendOrder(deps, tenant, step);
    deps.awaited.add(step.stepId);
    const awaiting = Promise.all([recordOrder(deps, lease, ids), awaitShortTurn(deps, tenant, { ...step, ...ids })]);
    const [parked, result] = await awaiting.finally(() => deps.awaited.delete(step.stepId));
    if (result) return await finish(deps, lease, result);
    // The sweep of a wake-up misses a turn whose id is not stored yet, and one that is awaited here.
    return deps.countWakes() === wakes ? parked : { ...parked, parkUntil: deps.now() };
  } catch (error) {
    if (!(error instanceof ServiceError) || lease.signal.aborted) throw error;
    const late = deps.now() - step.createdAt > ORDER_TIMEOUT_MS;
    // Only a refusal is sure to have started no turn. After any other failure the slot is kept, because the turn may run.
    const mayRun = error.code !== 'RESOURCE_EXHAUSTED';
    if (error.retryable && !late)
      return { parkUntil: deps.now() + (error.details.retryAfterMs ?? ORDER_RETRY_MS), ...(mayRun && { keepSlot: true }) };
    return finish(deps, lease, { text: '', error: error.message, permanent: !error.retryable });
  }
}

/** Orders the turn or the approval of a step. A repeated order returns the same ids. */
async function sendOrder(deps: StepWorkDeps, tenant: string, step: StepDocument): Promise<OrderIds> {
  const { question } = step;
  if (!question) return { turnId: await orderTurn(deps.bus, tenant, step) };
  const { requestId } = await orderApproval(deps.bus, tenant, { ...step, question });
  await announceApproval(deps, tenant, { ...step, question }, requestId);
  return { requestId };
}

/** Returns the end of a turn that takes a moment only, which spares the step to be parked and found again. Longer turns are parked. */
async function awaitShortTurn({ bus }: StepWorkDeps, tenant: string, step: StepDocument): Promise<StepResult | undefined> {
  if (step.turnId === undefined) return undefined;
  return readTurn(bus, tenant, step, { turnId: step.turnId, waitMs: SHORT_TURN_MS }).catch(() => undefined); // the parked step asks again
}

/** Cancels the order of a step that was cancelled while it was ordered, because the canceller did not know the ids. */
async function recordOrder(deps: StepWorkDeps, lease: Lease<StepDocument>, ids: OrderIds): Promise<Parked> {
  const { document: step, tenant } = lease;
  const startedAt = deps.now();
  try {
    await lease.persist(() => lease.write({ set: { ...ids, turnPending: true, startedAt } }));
  } catch (error) {
    const stored = await deps.steps.for({ tenant }).get(step.stepId);
    if (stored?.state === 'cancelled') await cancelOrder(deps.bus, tenant, { ...step, ...ids });
    throw error;
  }
  return awaitEnd(deps, { ...step, startedAt });
}

/** Cancels the turn or withdraws the request of a step. */
export async function cancelOrder(bus: Bus, tenant: string, step: StepDocument): Promise<void> {
  const { turnId, requestId, question, fence } = step;
  // A step that no replica has claimed was not ordered.
  const mayHaveTurn = turnId !== undefined || (!question && fence > 0);
  if (mayHaveTurn) await cancelTurn(bus, tenant, step);
  if (requestId !== undefined) await withdrawApproval(bus, tenant, step, requestId);
}

type Parked = Extract<Outcome<StepDocument>, { parkUntil: number }>;

/** Parks a step until it has ended. The longer it takes, the less often the step asks. A request for approval holds no slot. */
function awaitEnd({ now }: StepWorkDeps, { startedAt = now(), question }: StepDocument): Parked {
  const at = now();
  const delayMs = Math.min(Math.max(at - startedAt, MIN_TURN_POLL_INTERVAL_MS), MAX_TURN_POLL_INTERVAL_MS);
  return { parkUntil: at + delayMs, ...(question ? {} : { keepSlot: true }) };
}

/** Stores the end before the run is woken, so that the run finds it. */
async function finish(deps: StepWorkDeps, lease: Lease<StepDocument>, result: StepResult): Promise<Outcome<StepDocument>> {
  // The write that wakes the run follows, and resolves after both are on the disk.
  await lease.persist(() => lease.write({ set: { ...closed(deps.now()), ...result }, deferSync: true }));
  return endStep(deps, lease);
}

async function endStep(deps: StepWorkDeps, { tenant, document }: Lease<StepDocument>): Promise<Outcome<StepDocument>> {
  await deps.wakeRun(tenant, document.runId);
  return describeStoredEnd(document);
}

function describeStoredEnd({ error }: StepDocument): Outcome<StepDocument> {
  return { end: error === undefined ? 'done' : 'failed' };
}

/** Returns the fields of an ended step. */
export function closed(finishedAt: number): Partial<StepDocument> {
  return { finishedAt, turnPending: undefined, order: undefined, text: '', spent: noSpent() };
}
