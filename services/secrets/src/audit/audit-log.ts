import type { AuditAct, AuditLook } from '@switchyard/contracts';
import { inserted, type Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { Principal } from '@switchyard/contracts';
import type { AuditData } from '../documents/collections.ts';
import type { AuditKey } from '../values/data-key.ts';
import { createAuditChain, rejectWithoutKey, type AuditChain, type AuditedOutcome } from './audit-chain.ts';

/** After its deadline a call may still be recording its outcome. */
const GRACE_MS = 30_000;
const SWEEP_INTERVAL_MS = 5_000;
const SWEEP_BATCH_SIZE = 100;

/** The audit log of all tenants. */
export interface AuditLog extends AsyncDisposable {
  begin(principal: Principal, act: AuditAct & { deadline: number }): Promise<void>;
  finish(principal: Principal, id: string, ending: AuditedOutcome): Promise<void>;
  recordReads(principal: Principal, reads: readonly AuditLook[]): Promise<void>;
  chain(tenant: string): AuditChain;
}

interface AuditLogDeps {
  data: AuditData;
  store: Pick<Store, 'now'>;
  log: Logger;
  /** Signs records. */
  auditKey?: AuditKey | undefined;
  /** Without an audit key: whether other replicas have one. */
  isEncryptedElsewhere?: () => Promise<boolean>;
}

/** Every call that began is recorded. Each replica sweeps calls whose outcome was never reported. */
export function openAuditLog({ data, store, log, auditKey, isEncryptedElsewhere = async () => false }: AuditLogDeps): AuditLog {
  const chains = new Map<string, AuditChain>();
  let sweeping: Promise<void> | undefined;

  function getChain(tenant: string): AuditChain {
    const chain = chains.get(tenant) ?? createAuditChain(data, tenant, { store, auditKey, isEncryptedElsewhere });
    chains.set(tenant, chain);
    return chain;
  }

  /** Appends before it removes the pending call. After a crash in between, the sweep appends again, which has no effect. */
  async function finish(tenant: string, id: string, ending: AuditedOutcome): Promise<void> {
    const pendingCalls = data.pendingCalls.for({ tenant });
    const pending = await pendingCalls.get(id);
    if (pending === null) return;
    const { until: _, ...call } = pending;
    await getChain(tenant).append(call, ending);
    await pendingCalls.remove({ id });
  }

  async function sweep(): Promise<void> {
    const { items } = await data.pendingCalls.system().find({ until: { lt: store.now() } }, { limit: SWEEP_BATCH_SIZE });
    for (const { tenant, id, method, replica } of items) {
      log.warn({ tenant, auditId: id, method, by: replica }, 'the outcome of a call was never reported; recorded as unknown');
      await finish(tenant, id, { outcome: 'unknown' });
    }
  }

  const timer = setInterval(() => {
    sweeping ??= sweep()
      .catch((err: unknown) => log.error({ err }, 'failed to record calls without an outcome; retrying'))
      .finally(() => (sweeping = undefined));
  }, SWEEP_INTERVAL_MS).unref();

  return {
    async begin({ tenant, client, agent }, { deadline, ...act }) {
      await rejectWithoutKey(isEncryptedElsewhere);
      const document = { ...act, since: store.now(), client, ...(agent === undefined ? {} : { agent }), until: deadline + GRACE_MS };
      await inserted(() => data.pendingCalls.for({ tenant }).insert(document));
    },
    finish: ({ tenant }, id, ending) => finish(tenant, id, ending),
    async recordReads({ tenant, client, agent }, reads) {
      for (const { outcome, code, agoMs, ...read } of reads) {
        const call = { ...read, kind: 'read' as const, since: store.now() - agoMs, client, ...(agent === undefined ? {} : { agent }) };
        await getChain(tenant).append(call, { outcome, code });
      }
    },
    chain: getChain,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await sweeping;
    },
  };
}
