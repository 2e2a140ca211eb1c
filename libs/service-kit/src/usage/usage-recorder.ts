import { ServiceError, type MediaUsagePurpose, type TurnUsage, type UsageOutcome, type UsagePurpose } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { MAX_PAYLOADS, type UsageDocument } from './usage-document.ts';

const RETENTION_MS = 86_400_000;

/** Payload of a usage event. */
type Payload = Record<string, unknown>;

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

/**
 * Writes one document at a time for each tenant. Records that arrive during a write share the next document, so that a busy replica
 * writes once for many calls.
 */
export function createUsageRecorder<E extends UsageEvent>({ event, documents, store, log }: UsageRecorderDeps<E>): UsageRecorder<E> {
  /** Payloads that wait for the running write, by tenant. */
  const waiting = new Map<string, Payload[]>();
  const writers = new Set<Promise<void>>();

  async function writeAll(tenant: string, payloads: Payload[]): Promise<void> {
    while (payloads.length > 0) await write(tenant, payloads.splice(0, MAX_PAYLOADS));
    waiting.delete(tenant);
  }

  async function write(tenant: string, payloads: Payload[]): Promise<void> {
    const now = store.now();
    try {
      const document = { id: mintId('spent'), at: now, payloads, forgetAt: now + RETENTION_MS };
      await documents.for({ tenant }).insert(document, { emit: payloads.map((payload) => ({ name: event, payload })) });
    } catch (err) {
      const hint = 'the log line contains the usage';
      for (const usage of payloads)
        log.error({ err, tenant, usage, errorKind: 'dependency', hint }, 'failed to record the usage of a provider');
    }
  }

  return {
    record({ tenant, ...record }) {
      if (record.usage.calls === 0) return;
      const payload = toPayload(record, store.now());
      const before = waiting.get(tenant);
      if (before) {
        before.push(payload);
        return;
      }
      const payloads = [payload];
      waiting.set(tenant, payloads);
      const written = writeAll(tenant, payloads).finally(() => writers.delete(written));
      writers.add(written);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(writers);
    },
  };
}

function toPayload<E extends UsageEvent>(
  { model, client, turnId, ...record }: Omit<UsageRecord<E>, 'tenant'>,
  finishedAt: number,
): Payload {
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
