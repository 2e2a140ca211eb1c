import type { AuditAct, AuditLook } from '@switchyard/contracts';
import { inserted, type Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { Principal } from '@switchyard/contracts';
import type { AuditData } from '../documents/collections.ts';
import type { AuditSeal } from '../values/data-key.ts';
import { createChain, refuseUnsealed, type Chain, type Ending } from './audit-chain.ts';

/** After its deadline a call may still be recording its outcome. */
const GRACE_MS = 30_000;
const SWEEP_EVERY_MS = 5_000;
const SWEPT_AT_ONCE = 100;

/** The audit log of all tenants. */
export interface Audit extends AsyncDisposable {
  begin(principal: Principal, act: AuditAct & { deadline: number }): Promise<void>;
  finish(principal: Principal, id: string, ending: Ending): Promise<void>;
  looked(principal: Principal, looks: readonly AuditLook[]): Promise<void>;
  chain(tenant: string): Chain;
}

interface Given {
  data: AuditData;
  store: Pick<Store, 'now'>;
  log: Logger;
  /** Signs records. */
  seal?: AuditSeal | undefined;
  /** Without an audit key: whether other replicas have one. */
  sealedElsewhere?: () => Promise<boolean>;
}

/** Every call that began is recorded. Each replica sweeps calls whose outcome was never reported. */
export function openAudit({ data, store, log, seal, sealedElsewhere = async () => false }: Given): Audit {
  const opened = new Map<string, Chain>();
  let sweeping: Promise<void> | undefined;

  function chains(tenant: string): Chain {
    const chain = opened.get(tenant) ?? createChain(data, tenant, { store, seal, sealedElsewhere });
    opened.set(tenant, chain);
    return chain;
  }

  /** Appends before it removes the pending call. After a crash in between, the sweep appends again, which has no effect. */
  async function finish(tenant: string, id: string, ending: Ending): Promise<void> {
    const mine = data.begun.for({ tenant });
    const kept = await mine.get(id);
    if (kept === null) return;
    const { until: _, ...begun } = kept;
    await chains(tenant).append(begun, ending);
    await mine.remove({ id });
  }

  async function sweep(): Promise<void> {
    const { items } = await data.begun.system().find({ until: { lt: store.now() } }, { limit: SWEPT_AT_ONCE });
    for (const { tenant, id, method, replica } of items) {
      log.warn({ tenant, auditId: id, method, by: replica }, 'the outcome of a call was never reported; recorded as unknown');
      await finish(tenant, id, { outcome: 'unknown' });
    }
  }

  const timer = setInterval(() => {
    sweeping ??= sweep()
      .catch((err: unknown) => log.error({ err }, 'failed to record calls without an outcome; retrying'))
      .finally(() => (sweeping = undefined));
  }, SWEEP_EVERY_MS).unref();

  return {
    async begin({ tenant, client, agent }, { deadline, ...act }) {
      await refuseUnsealed(sealedElsewhere);
      const document = { ...act, since: store.now(), client, ...(agent === undefined ? {} : { agent }), until: deadline + GRACE_MS };
      await inserted(() => data.begun.for({ tenant }).insert(document));
    },
    finish: ({ tenant }, id, ending) => finish(tenant, id, ending),
    async looked({ tenant, client, agent }, looks) {
      for (const { outcome, code, agoMs, ...look } of looks) {
        const begun = { ...look, kind: 'read' as const, since: store.now() - agoMs, client, ...(agent === undefined ? {} : { agent }) };
        await chains(tenant).append(begun, { outcome, code });
      }
    },
    chain: chains,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await sweeping;
    },
  };
}
