import type { AuditAct, AuditLook } from '@switchyard/contracts';
import { inserted, type Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { Principal } from '@switchyard/contracts';
import type { AuditData } from '../documents/collections.ts';
import type { AuditSeal } from '../values/data-key.ts';
import { createChain, refuseUnsealed, type Chain, type Ending } from './audit-chain.ts';

/** After its deadline a call may still be writing its end. */
const GRACE_MS = 30_000;
const SWEEP_EVERY_MS = 5_000;
const SWEPT_AT_ONCE = 100;

/** What was done, on record. */
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
  /** What records are sealed with, so that nobody else writes any. */
  seal?: AuditSeal | undefined;
  /** Of a process without that: whether others have it by now. */
  sealedElsewhere?: () => Promise<boolean>;
}

/** Whatever was begun is on record in the end: of what nobody finished, every replica looks after it. */
export function openAudit({ data, store, log, seal, sealedElsewhere = async () => false }: Given): Audit {
  const opened = new Map<string, Chain>();
  let sweeping: Promise<void> | undefined;

  function chains(tenant: string): Chain {
    const chain = opened.get(tenant) ?? createChain(data, tenant, { store, seal, sealedElsewhere });
    opened.set(tenant, chain);
    return chain;
  }

  /** In this order: who dies in between leaves something that is on record already, and it is put there once. */
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
      log.warn({ tenant, auditId: id, method, by: replica }, 'nobody said how a call ended; it is put on record as unknown');
      await finish(tenant, id, { outcome: 'unknown' });
    }
  }

  const timer = setInterval(() => {
    sweeping ??= sweep()
      .catch((err: unknown) => log.error({ err }, 'calls that nobody finished are not on record yet; it is tried again in a moment'))
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
