import { ServiceError, type MediaUsagePurpose, type TurnUsage, type UsageOutcome, type UsagePurpose } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { Clock } from '../scheduling/clock.ts';
import { MAX_RECORDS, type UsageDocument } from './usage-document.ts';

const RETENTION_MS = 86_400_000;
/**
 * Minimum time between two writes. A killed process loses the records that wait for it: they are on the invoice of the provider and not
 * on the bill.
 */
const WRITE_INTERVAL_MS = 5;

/** Record of a usage event. */
type EventRecord = Record<string, unknown>;

/** The events that contain usage outside a durable turn, with their purposes. */
interface UsagePurposes {
  'usage:recorded': UsagePurpose;
  'media:usage_recorded': MediaUsagePurpose;
}
export type UsageEvent = keyof UsagePurposes;

/** Usage of a provider outside a durable turn. */
export interface UsageRecord<E extends UsageEvent> {
  tenant: string;
  purpose: UsagePurposes[E];
  agentId: string;
  /** Undefined for work that no client requested. */
  client?: string | undefined;
  model: { provider: string; modelId: string };
  turnId?: string | undefined;
  outcome: UsageOutcome;
  usage: TurnUsage;
}

/** Records the usage of providers for billing. */
export interface UsageRecorder<E extends UsageEvent = 'usage:recorded'> extends AsyncDisposable {
  /** Writes the record in the background, because the client does not wait for it. Does nothing if no provider was called. */
  record(record: UsageRecord<E>): void;
}

export interface UsageRecorderDeps<E extends UsageEvent> {
  event: E;
  documents: Collection<UsageDocument>;
  store: Pick<Store, 'now'>;
  clock: Clock;
  log: Pick<Logger, 'error'>;
}

/**
 * Writes a record at once, but at most once in an interval: the records of a busy replica share one document with one event for each
 * tenant.
 */
export function createUsageRecorder<E extends UsageEvent>(deps: UsageRecorderDeps<E>): UsageRecorder<E> {
  const { event, documents, store, clock, log } = deps;
  const waiting = new Map<string, EventRecord[]>();
  const writes = new Set<Promise<void>>();
  let cancelWrite: (() => void) | undefined;
  let writtenAt = -Infinity;

  function writeAll(): void {
    cancelWrite?.();
    cancelWrite = undefined;
    writtenAt = clock.now();
    for (const [tenant, records] of waiting) {
      for (let from = 0; from < records.length; from += MAX_RECORDS) {
        const written = write(tenant, records.slice(from, from + MAX_RECORDS)).finally(() => writes.delete(written));
        writes.add(written);
      }
    }
    waiting.clear();
  }

  async function write(tenant: string, records: EventRecord[]): Promise<void> {
    const now = store.now();
    try {
      const document = { id: mintId('spent'), at: now, records, forgetAt: now + RETENTION_MS };
      await documents.for({ tenant }).insert(document, { emit: [{ name: event, payload: { records } }] });
    } catch (err) {
      const hint = 'the log line contains the usage';
      for (const usage of records)
        log.error({ err, tenant, usage, errorKind: 'dependency', hint }, 'failed to record the usage of a provider');
    }
  }

  return {
    record({ tenant, ...record }) {
      if (record.usage.calls === 0) return;
      const records = waiting.get(tenant) ?? [];
      records.push(toEventRecord(record, store.now()));
      waiting.set(tenant, records);
      cancelWrite ??= clock.after(Math.max(0, writtenAt + WRITE_INTERVAL_MS - clock.now()), writeAll);
    },
    async [Symbol.asyncDispose]() {
      writeAll();
      await Promise.all(writes);
    },
  };
}

function toEventRecord<E extends UsageEvent>(
  { model, client, turnId, ...record }: Omit<UsageRecord<E>, 'tenant'>,
  finishedAt: number,
): EventRecord {
  return {
    id: mintId('spent'),
    ...record,
    model: `${model.provider}/${model.modelId}`,
    ...(client === undefined ? {} : { client }),
    ...(turnId === undefined ? {} : { turnId }),
    finishedAt,
  };
}

/** Classifies the end of a provider call by its error. */
export function getOutcome(error: unknown): UsageOutcome {
  if (!(error instanceof ServiceError)) return 'failed';
  if (error.code === 'CANCELLED') return 'cancelled';
  return error.code === 'DEADLINE_EXCEEDED' ? 'timed_out' : 'failed';
}
