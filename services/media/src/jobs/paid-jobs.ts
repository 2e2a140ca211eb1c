import type { Ctx } from '@switchyard/bus';
import { ServiceError, type ErrorCode, type Principal } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { pause, systemClock, toPrincipal, toStoredPrincipal } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import { createWork, newWork, type Lease, type Outcome } from '@switchyard/work';
import type { JobDocument } from './job-document.ts';

const MAX_RUNNING = 16;
const MAX_ATTEMPTS = 3;
/** A caller reads a job that another replica runs after this time. */
const POLL_INTERVAL_MS = 250;

export type JobKind = JobDocument['kind'];
type Fields = Record<string, unknown>;

export interface JobContext {
  /** Stays the same when another replica runs the job again. */
  jobId: string;
  principal: Principal;
  signal: AbortSignal;
}

/** The function for each kind of job that makes its result. The result is stored, so large bytes belong into a blob. */
export type JobMakers = Readonly<Record<JobKind, (params: Fields, context: JobContext) => Promise<Fields>>>;

export interface PaidJobsDeps {
  jobs: Collection<JobDocument>;
  makers: JobMakers;
  owner: string;
  now: () => number;
  log: { warn(fields: object, message: string): void };
}

/** Runs paid calls as durable work, so that a call with an idempotency key is paid once. */
export interface PaidJobs extends AsyncDisposable {
  /** Returns the result of the job. The same key of a client returns the same result for a day; other params with it are refused. */
  run(kind: JobKind, params: Fields, options: { ctx: Ctx; idempotencyKey?: string | undefined }): Promise<Fields>;
  /** Continues the jobs of ended processes. */
  startDue(): void;
}

export function createPaidJobs({ jobs, makers, owner, now, log }: PaidJobsDeps): PaidJobs {
  const waiting = new Map<string, Set<() => void>>();

  const work = createWork<JobDocument>({
    documents: jobs,
    owner,
    now,
    log,
    capacity: () => MAX_RUNNING,
    run: async (lease) => {
      const outcome = await make(lease);
      setImmediate(() => notify(lease.document.jobId)); // after the outcome is written
      return outcome;
    },
    poison: {
      maxAttempts: MAX_ATTEMPTS,
      outcome: () => failWith(new ServiceError('UNAVAILABLE', 'the call was interrupted too often; retry it')),
    },
  });

  async function make({ document: job, tenant, signal }: Lease<JobDocument>): Promise<Outcome<JobDocument>> {
    const { agent, session } = job;
    const principal = {
      ...toPrincipal(tenant, job.principal),
      ...(agent === undefined ? {} : { agent }),
      ...(session === undefined ? {} : { session }),
    };
    try {
      const result = await makers[job.kind](job.params, { jobId: job.jobId, principal, signal });
      return { end: 'done', set: { result, finishedAt: now() } };
    } catch (error) {
      if (!(error instanceof ServiceError) || signal.aborted) throw error;
      return failWith(error);
    }
  }

  /** A failed call was not paid, so its key is free again. */
  function failWith({ code, message, details }: ServiceError): Outcome<JobDocument> {
    return { end: 'failed', set: { failure: { code, message, details: { ...details } }, finishedAt: now(), idempotencyKey: undefined } };
  }

  function notify(jobId: string): void {
    for (const wake of waiting.get(jobId) ?? []) wake();
  }

  async function waitForChange(jobId: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const listeners = waiting.get(jobId) ?? new Set();
    waiting.set(jobId, listeners.add(resolve));
    await Promise.race([promise, pause(systemClock, POLL_INTERVAL_MS)]);
    listeners.delete(resolve);
    if (listeners.size === 0) waiting.delete(jobId);
  }

  async function waitForEnd(job: JobDocument, { principal, signal }: Ctx): Promise<Fields> {
    for (;;) {
      if (signal.aborted) {
        // Without a key no one can ask for the result again.
        if (job.idempotencyKey === undefined) await work.cancel(principal.tenant, job.jobId);
        throw signal.reason as Error;
      }
      const changed = waitForChange(job.jobId);
      const stored = await jobs.for(principal).get(job.jobId);
      if (stored?.result !== undefined) return stored.result;
      if (stored?.failure !== undefined) throw restore(stored.failure);
      if (!stored || stored.state === 'cancelled') throw new ServiceError('CANCELLED', 'the call was cancelled');
      await changed;
    }
  }

  return {
    async run(kind, params, { ctx, idempotencyKey }) {
      const { principal } = ctx;
      const { client, agent, session } = principal;
      const job: JobDocument = {
        ...newWork(),
        jobId: mintId('job'),
        kind,
        client,
        principal: toStoredPrincipal(principal),
        ...(agent === undefined ? {} : { agent }),
        ...(session === undefined ? {} : { session }),
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        params,
        createdAt: now(),
      };
      const key = { key: ['client', 'kind', 'idempotencyKey'], fingerprint: JSON.stringify(params) } as const;
      const { document } = await work.add(principal, job, idempotencyKey === undefined ? {} : key);
      work.startDue();
      return waitForEnd(document, ctx);
    },
    startDue: () => work.startDue(),
    [Symbol.asyncDispose]: () => work[Symbol.asyncDispose](),
  };
}

function restore({ code, message, details }: { code: string; message: string; details: Fields }): ServiceError {
  return new ServiceError(code as ErrorCode, message, { details });
}
