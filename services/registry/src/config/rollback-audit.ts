import type { Bus } from '@switchyard/bus';
import { mintId } from '@switchyard/security';
import type { Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';

/** Author of automatic rollbacks in the history, the events and the audit log. */
export const ROLLBACK_AUTHOR = 'switchyard';
const ATTEMPTS = 3;

export interface RollbackAuditDeps {
  bus: Pick<Bus, 'as'>;
  /** Tenant of the installation, whose audit log records a rollback. */
  tenant: string;
  /** Name of this replica of the registry. */
  replica: string;
  store: Pick<Store, 'now'>;
  log: Pick<Logger, 'error'>;
}

/**
 * Writes an automatic rollback to the audit log of the installation and returns the id of its record. The rollback does not wait for it,
 * because the secrets service may be what does not answer.
 */
export function recordRollback({ bus, tenant, replica, store, log }: RollbackAuditDeps, sha: string): string {
  const [id, requestId] = [mintId('audit'), mintId('req')];
  const audit = bus.as({ tenant, client: ROLLBACK_AUTHOR, scopes: [] });
  const call = { id, method: 'config.rollback', kind: 'mutate', target: { sha }, requestId, service: 'registry', replica } as const;
  const record = async (): Promise<void> => {
    await audit.call('audit.begin', { ...call, deadline: Math.ceil(store.now()) }, { requestId });
    await audit.call('audit.finish', { id, outcome: 'success' }, { requestId });
  };
  const retry = (err: unknown, attempt: number): Promise<void> | undefined => {
    if (attempt < ATTEMPTS) return record().catch((error: unknown) => retry(error, attempt + 1));
    log.error({ err, auditId: id, sha }, 'failed to write an automatic rollback to the audit log');
    return undefined;
  };
  void record().catch((error: unknown) => retry(error, 1));
  return id;
}
