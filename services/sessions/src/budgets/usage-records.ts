import { ServiceError, type TurnUsage, type UsageOutcome, type UsagePurpose } from '@switchyard/contracts';
import type { ModelRef } from '@switchyard/models';
import { mintId } from '@switchyard/security';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { DAY_MS } from '../model/retention.ts';
import type { SpentDocument } from '../model/spent-document.ts';

/** Model usage outside a durable turn. */
export interface UsageRecord {
  tenant: string;
  purpose: UsagePurpose;
  agentId: string;
  /** Undefined for work that no client requested. */
  client?: string | undefined;
  model: ModelRef;
  turnId?: string | undefined;
  outcome: UsageOutcome;
  usage: TurnUsage;
}

/** Records model usage for billing. */
export interface UsageRecorder extends AsyncDisposable {
  /** Writes the record in the background, because the client does not wait for it. Does nothing if no model was called. */
  record(record: UsageRecord): void;
}

export interface UsageRecorderDeps {
  spent: Collection<SpentDocument>;
  store: Pick<Store, 'now'>;
  log: Logger;
}

export function createUsageRecorder({ spent, store, log }: UsageRecorderDeps): UsageRecorder {
  const writes = new Set<Promise<void>>();

  async function write({ tenant, model, client, turnId, ...record }: UsageRecord): Promise<void> {
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
      const emit = [{ name: 'usage:recorded' as const, payload }];
      await spent.for({ tenant }).insert({ id, at: now, payload, forgetAt: now + DAY_MS }, { emit, deferSync: true });
    } catch (err) {
      const hint = 'the log line contains the usage';
      log.error({ err, tenant, usage: payload, errorKind: 'dependency', hint }, 'failed to record model usage');
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

/** Classifies the end of a model call by its error. */
export function getOutcome(error: unknown): UsageOutcome {
  if (!(error instanceof ServiceError)) return 'failed';
  if (error.code === 'CANCELLED') return 'cancelled';
  return error.code === 'DEADLINE_EXCEEDED' ? 'timed_out' : 'failed';
}
