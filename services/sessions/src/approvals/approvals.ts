import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import type { Collection, OutboxEvent } from '@switchyard/store';
import { createWork, newWork, type Lease, type Outcome, type Work, type WorkDocument } from '@switchyard/work';
import type { Answer, ApprovalDocument } from './approval-document.ts';
import { recordVerdict } from './approval-metrics.ts';
import { toRequest, toResolution } from './approval-views.ts';

/** Requests that are woken at once on one replica. */
const CAPACITY = 64;
/** Delay before a session that a replica still holds is woken again. */
const WAKE_RETRY_MS = 100;
/** A replica may hold a session for the time of a lease after its death, which is fewer than these retries. */
const MAX_ATTEMPTS = 1_000;
const PAGE_SIZE = 200;

export type NewApproval = Omit<ApprovalDocument, keyof WorkDocument | 'createdAt' | 'pendingKey' | 'verdict' | 'decidedAt'>;

export interface Approvals extends AsyncDisposable {
  find(tenant: string, requestId: string): Promise<ApprovalDocument | null>;
  /** Returns the pending request of an identical call instead, if there is one. */
  request(tenant: string, request: NewApproval): Promise<ApprovalDocument>;
  /** Returns the latest cached verdict on an identical call. */
  findCached(tenant: string, actionKey: string): Promise<ApprovalDocument | undefined>;
  /**
   * Records the first answer and wakes the session. Throws NOT_FOUND for an unknown request and FAILED_PRECONDITION, with the verdict that
   * won, for a decided one.
   */
  resolve(tenant: string, requestId: string, answer: Answer): Promise<ApprovalDocument>;
  /** Returns the pending requests of a tenant or session, oldest first. */
  listPending(tenant: string, sessionKey?: string): Promise<ApprovalDocument[]>;
  /** Makes the request of a turn that has ended end as denied. */
  withdraw(tenant: string, requestId: string): Promise<void>;
  clearDenials(tenant: string): Promise<void>;
  /** Wakes the sessions whose requests have a verdict or have expired. */
  startDue(): void;
}

export interface ApprovalsDeps {
  approvals: Collection<ApprovalDocument>;
  owner: string;
  now: () => number;
  /** Timers of the leases and polls; those of the system by default. */
  clock?: Clock;
  /** Times in milliseconds for which verdicts answer identical calls. */
  cacheTtl: () => { approvedMs: number; deniedMs: number };
  /** Makes the turn that waits for the request runnable. Returns false while a replica still holds its session. */
  wakeSession: (tenant: string, request: ApprovalDocument) => Promise<boolean>;
  /** Returns whether the turn of the request has not ended. */
  isAwaited: (tenant: string, request: ApprovalDocument) => Promise<boolean>;
  log: { warn(fields: object, message: string): void };
}

export function createApprovals(deps: ApprovalsDeps): Approvals {
  const { approvals, owner, now, log, clock } = deps;
  const work: Work<ApprovalDocument> = createWork<ApprovalDocument>({
    documents: approvals,
    owner,
    now,
    log,
    ...(clock && { clock }),
    capacity: () => CAPACITY,
    run: (lease) => deliverVerdict(deps, lease),
    poison: { maxAttempts: MAX_ATTEMPTS, outcome: (request) => expireUndecided(request, now()) },
  });

  return {
    find: (tenant, requestId) => approvals.for({ tenant }).get(requestId),

    async request(tenant, request) {
      const createdAt = now();
      const added: ApprovalDocument = {
        ...newWork(),
        ...request,
        state: 'parked',
        pendingKey: request.actionKey,
        createdAt,
      };
      const { document } = await work.add({ tenant }, added, {
        dueAt: createdAt + request.timeoutMs,
        key: ['pendingKey'],
        emit: [{ name: 'approval:requested', payload: toRequest(added) }],
      });
      work.startDue();
      return document;
    },

    async findCached(tenant, actionKey) {
      const { items } = await approvals
        .for({ tenant })
        .find({ actionKey, cachedUntil: { gt: now() } }, { sort: [['cachedUntil', 'desc']], limit: 1 });
      return items[0];
    },

    async resolve(tenant, requestId, { approved, approvedBy, reason, answer }) {
      const { approvedMs, deniedMs } = deps.cacheTtl();
      const verdict = {
        verdict: approved ? ('approved' as const) : ('denied' as const),
        decidedBy: approvedBy,
        decidedAt: now(),
        cachedUntil: now() + (approved ? approvedMs : deniedMs),
        ...(reason === undefined ? {} : { reason }),
        ...(answer === undefined ? {} : { answer }),
      };
      const emit = [resolvedEvent(requestId, verdict)];
      const resolved = await work.wake(
        tenant,
        requestId,
        { set: verdict, unset: ['pendingKey'], emit },
        { state: 'parked', dueAt: { gt: now() }, verdict: null },
      );
      if (!resolved) throw await explainMiss(deps, tenant, requestId);
      recordVerdict(resolved);
      work.startDue();
      return resolved;
    },

    async listPending(tenant, sessionKey) {
      const found: ApprovalDocument[] = [];
      for (let cursor: string | undefined; ;) {
        const page = await approvals
          .for({ tenant })
          .find(
            { pendingKey: { gt: '' }, ...(sessionKey === undefined ? {} : { sessionKey }) },
            { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) },
          );
        found.push(...page.items);
        cursor = page.cursor;
        if (cursor === undefined) break;
      }
      return found.toSorted((one, other) => one.createdAt - other.createdAt);
    },

    async withdraw(tenant, requestId) {
      if (await work.wake(tenant, requestId, {}, { verdict: null })) work.startDue();
    },

    async clearDenials(tenant) {
      const own = approvals.for({ tenant });
      for (;;) {
        const { items } = await own.find({ verdict: 'denied', cachedUntil: { gt: now() } }, { limit: PAGE_SIZE });
        for (const { requestId } of items) await own.update({ requestId }, { unset: ['cachedUntil'] });
        if (items.length < PAGE_SIZE) return;
      }
    },

    startDue: () => work.startDue(),
    [Symbol.asyncDispose]: () => work[Symbol.asyncDispose](),
  };
}

type Verdict = Pick<ApprovalDocument, 'verdict' | 'decidedBy' | 'decidedAt' | 'reason'>;

function resolvedEvent(requestId: string, verdict: Verdict): OutboxEvent {
  return { name: 'approval:resolved', payload: toResolution({ requestId, ...verdict }) };
}

/** Denies a request whose timeout has passed or whose turn has ended, and wakes the session. */
async function deliverVerdict(deps: ApprovalsDeps, lease: Lease<ApprovalDocument>): Promise<Outcome<ApprovalDocument>> {
  const { now } = deps;
  const { verdict, requestId, createdAt, timeoutMs } = lease.document;
  if (verdict === undefined) {
    const isAwaited = await deps.isAwaited(lease.tenant, lease.document);
    if (isAwaited && now() < createdAt + timeoutMs) return { parkUntil: createdAt + timeoutMs };
    const decidedBy = isAwaited ? 'system:timeout' : 'system:cancelled';
    const expired = { verdict: 'expired' as const, decidedBy, decidedAt: now() };
    await lease.write({ set: expired, unset: ['pendingKey'], emit: [resolvedEvent(requestId, expired)] });
    recordVerdict({ ...lease.document, ...expired });
  }
  return (await deps.wakeSession(lease.tenant, lease.document)) ? { end: 'done' } : { retryAt: now() + WAKE_RETRY_MS };
}

/** A request that ends without a verdict would stay in the list of pending ones, and its turn would wait for it again. */
function expireUndecided({ requestId, verdict }: ApprovalDocument, decidedAt: number): Outcome<ApprovalDocument> {
  if (verdict !== undefined) return { end: 'done' };
  const expired = { verdict: 'expired' as const, decidedBy: 'system:timeout', decidedAt };
  return { end: 'done', set: { ...expired, pendingKey: undefined }, emit: [resolvedEvent(requestId, expired)] };
}

async function explainMiss({ approvals }: ApprovalsDeps, tenant: string, requestId: string): Promise<ServiceError> {
  const existing = await approvals.for({ tenant }).get(requestId);
  if (!existing) return new ServiceError('NOT_FOUND', `Approval request ${requestId} was not found.`);
  const { verdict = 'expired', decidedBy = 'system:timeout' } = existing;
  return new ServiceError('FAILED_PRECONDITION', `Approval request ${requestId} was already ${describe(verdict)} by ${decidedBy}.`, {
    details: { reason: 'ALREADY_RESOLVED', approved: verdict === 'approved', approvedBy: decidedBy },
  });
}

function describe(verdict: string): string {
  return verdict === 'approved' ? 'approved' : 'denied';
}

/** Returns whether another answer was first. */
export function isAlreadyResolved(error: unknown): boolean {
  return error instanceof ServiceError && (error.details.reason === 'ALREADY_RESOLVED' || error.code === 'NOT_FOUND');
}
