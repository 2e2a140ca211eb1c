import { ServiceError, type MediaUsagePurpose, type TurnUsage, type UsageOutcome, type UsagePurpose } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { UsageDocument } from './usage-document.ts';

const RETENTION_MS = 86_400_000;

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
  log: Pick<Logger, 'error'>;
}

export function createUsageRecorder<E extends UsageEvent>({ event, documents, store, log }: UsageRecorderDeps<E>): UsageRecorder<E> {
  const writes = new Set<Promise<void>>();

  async function write({ tenant, model, client, turnId, ...record }: UsageRecord<E>): Promise<void> {
    const [id, now] = [mintId('spent'), store.now()];
    const payload = {
      id,
      ...record,
      model: `${model.provider}/${model.modelId}`,
      ...(client === undefined ? {} : { client }),
      ...(turnId === undefined ? {} : { turnId }),
      finishedAt: now,
    };
    try {
      const document = { id, at: now, payload, forgetAt: now + RETENTION_MS };
      await documents.for({ tenant }).insert(document, { emit: [{ name: event, payload }], deferSync: true });
    } catch (err) {
      const hint = 'the log line contains the usage';
      log.error({ err, tenant, usage: payload, errorKind: 'dependency', hint }, 'failed to record the usage of a provider');
    }
  }

  return {
    record(record) {
      if (record.usage.calls === 0) return;
      const written = write(record).finally(() => writes.delete(written));
      writes.add(written);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(writes);
    },
  };
}

/** Classifies the end of a provider call by its error. */
export function getOutcome(error: unknown): UsageOutcome {
  if (!(error instanceof ServiceError)) return 'failed';
  if (error.code === 'CANCELLED') return 'cancelled';
  return error.code === 'DEADLINE_EXCEEDED' ? 'timed_out' : 'failed';
}
