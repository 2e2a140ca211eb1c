import type { Bus } from '@switchyard/bus';
import { CONFIG_BUCKET } from '@switchyard/contracts';
import { systemClock, watchReplicas, type ConfigurationSource, type WatchedReplicas } from '@switchyard/service-kit';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { ConfigHeadDocument, ConfigLayerDocument, ConfigVersionDocument } from '../documents/collections.ts';
import { createActiveVersion, type GetActiveVersion } from './active-version.ts';
import { openPublisher } from './head-publisher.ts';
import { startAutomaticRollback } from './automatic-rollback.ts';
import { createConfigWebhook } from './config-webhook.ts';
import { openVersions, type Versions } from './version-chain.ts';
import type { ConfigDeps } from './write-config.ts';

interface OpenConfigDeps {
  versions: Collection<ConfigVersionDocument>;
  layers: Collection<ConfigLayerDocument>;
  heads: Collection<ConfigHeadDocument>;
  store: Pick<Store, 'now'>;
  bus: Bus;
  configuration: ConfigurationSource;
  own: AsyncDisposableStack;
  replica: string;
  log: Logger;
  webhook: Pick<Parameters<typeof createConfigWebhook>[0], 'settings' | 'secret'>;
}

/** Opens the version chain and publishes its head, also if a crashed replica did not publish it. */
export async function openConfig(
  deps: OpenConfigDeps,
): Promise<Omit<ConfigDeps, 'checkAgents'> & { inForce: GetActiveVersion; replicas: WatchedReplicas }> {
  const { bus, configuration, own, log, store, replica } = deps;
  const tenant = configuration.current.tenantId;
  const chain = await openVersions({ ...deps, tenant });
  const webhook = own.use(createConfigWebhook({ ...deps.webhook, versions: chain, log }));
  const versions: Versions = {
    ...chain,
    async commit(write, decide) {
      const version = await chain.commit(write, decide);
      webhook.send(version);
      return version;
    },
  };
  const publisher = own.use(await openPublisher(bus, versions, log));
  await publisher.publish();
  const replicas = own.use(await watchReplicas(bus, CONFIG_BUCKET));
  own.use(startAutomaticRollback({ versions, publisher, store, replicas, bus, clock: systemClock, tenant, replica, log }));
  return { versions, publisher, configuration, store, inForce: createActiveVersion(publisher, replicas), replicas };
}
