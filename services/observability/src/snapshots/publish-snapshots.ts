import type { Bus } from '@switchyard/bus';
import { ServiceError, servicePrincipal, type EventPayload } from '@switchyard/contracts';
import { atIntervals, type Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { readUsage, toBillingTotal, type BillingDeps } from '../billing/read-billing.ts';
import { groupSums } from '../billing/usage-sums.ts';
import { getProvider } from '../billing/provider.ts';
import type { PositionDocument } from '../documents/collections.ts';

const POSITION = 'snapshot';
const DAY_MS = 86_400_000;
const PAGE_SIZE = 500;
/** Share of the period after which a snapshot is due, because timers of replicas are not exact. */
const DUE_SHARE = 0.9;

export interface SnapshotDeps extends BillingDeps {
  bus: Pick<Bus, 'as'>;
  positions: Collection<PositionDocument>;
  clock: Clock;
  log: Logger;
  intervalMs: number;
}

/**
 * Publishes the cost of each provider and the activity of each channel once per period, for each tenant with usage in the last day. Several
 * replicas publish one snapshot. A lost one is followed by the next.
 */
export function startSnapshots(deps: SnapshotDeps): AsyncDisposable {
  const { clock, log, intervalMs } = deps;
  const failed = (err: unknown): void =>
    log.warn({ err, errorKind: 'dependency', hint: 'retried in the next period' }, 'failed to publish snapshots of usage');
  return atIntervals({ clock, ms: intervalMs, failed }, async (closed) => {
    for (const tenant of await listTenants(deps)) if (!closed() && (await acquirePeriod(deps, tenant))) await publish(deps, tenant);
  });
}

async function listTenants({ hours, now }: SnapshotDeps): Promise<Set<string>> {
  const tenants = new Set<string>();
  let cursor: string | undefined;
  do {
    const options = { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) };
    const page = await hours.system().find({ at: { gte: Math.max(0, now() - DAY_MS) } }, { sort: [['at', 'asc']], ...options });
    for (const { tenant } of page.items) tenants.add(tenant);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return tenants;
}

/** Returns whether this replica publishes the snapshot of the period. */
async function acquirePeriod({ positions, now, intervalMs }: SnapshotDeps, tenant: string): Promise<boolean> {
  const documents = positions.for({ tenant });
  const at = now();
  if (await documents.update({ name: POSITION, at: { lte: at - intervalMs * DUE_SHARE } }, { set: { at } })) return true;
  try {
    await documents.insert({ name: POSITION, log: '', seq: 0, at });
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') return false;
    throw error;
  }
}

/** No channel is installed, so that the list of channels is empty. */
async function publish(deps: SnapshotDeps, tenant: string): Promise<void> {
  const bus = deps.bus.as(servicePrincipal('observability', tenant));
  const timestamp = deps.now();
  bus.emit('diagnostic:billing_snapshot', await readSnapshot(deps, tenant, timestamp));
  bus.emit('diagnostic:channel_health', { channels: [], timestamp });
}

async function readSnapshot(deps: SnapshotDeps, tenant: string, timestamp: number): Promise<EventPayload<'diagnostic:billing_snapshot'>> {
  const entries = await readUsage(deps, { tenant }, undefined);
  const providers = Array.from(
    groupSums(entries, ({ model }) => getProvider(model)),
    ([provider, sum]) => {
      const { totalCost, totalTokens, callCount } = toBillingTotal([sum]);
      return { provider, totalCost, totalTokens, callCount };
    },
  );
  return { providers, totalCost: toBillingTotal(entries).totalCost, timestamp };
}
