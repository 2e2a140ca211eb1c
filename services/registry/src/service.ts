import { registry as contract, ServiceError } from '@switchyard/contracts';
import { createModels } from '@switchyard/models';
import { createSecretReader, defineService, followSecrets, type SecretReader, type Settings } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { checkConfigAgents } from './agents/check-config-agents.ts';
import { createAgents } from './agents/agents.ts';
import { openProjector } from './agents/agent-projector.ts';
import { watchTenants } from './agents/tenant-watch.ts';
import { openConfig } from './config/open-config.ts';
import type { ProposedConfiguration } from './config/write-config.ts';
import {
  agentCollection,
  configHeadCollection,
  configLayerCollection,
  configVersionCollection,
  validatedCollection,
} from './documents/collections.ts';
import { agentsCreate } from './handlers/agents/agents-create.ts';
import { agentsDelete } from './handlers/agents/agents-delete.ts';
import { agentsGet } from './handlers/agents/agents-get.ts';
import { agentsList } from './handlers/agents/agents-list.ts';
import { agentsResume } from './handlers/agents/agents-resume.ts';
import { agentsSuspend } from './handlers/agents/agents-suspend.ts';
import { agentsUpdate } from './handlers/agents/agents-update.ts';
import { agentsVisible } from './handlers/agents/agents-visible.ts';
import { configApply } from './handlers/config/config-apply.ts';
import { configDiff } from './handlers/config/config-diff.ts';
import { configGc } from './handlers/config/config-gc.ts';
import { configGet } from './handlers/config/config-get.ts';
import { configHistory } from './handlers/config/config-history.ts';
import { configPatch } from './handlers/config/config-patch.ts';
import { configRead } from './handlers/config/config-read.ts';
import { configRollback } from './handlers/config/config-rollback.ts';
import { configSchema } from './handlers/config/config-schema.ts';
import { configSet } from './handlers/config/config-set.ts';
import { daemonSetLogLevel } from './handlers/gateway/daemon-set-log-level.ts';
import { configWrite } from './handlers/config/config-write.ts';
import { gatewayRestart } from './handlers/gateway/gateway-restart.ts';
import { gatewayStatus } from './handlers/gateway/gateway-status.ts';
import { modelsEmbed } from './handlers/models/models-embed.ts';
import { modelsListProviders } from './handlers/models/models-list-providers.ts';
import { modelsList } from './handlers/models/models-list.ts';
import { modelsTest } from './handlers/models/models-test.ts';
import { modelsPrices } from './handlers/models/models-prices.ts';
import { modelsVisible } from './handlers/models/models-visible.ts';
import { announceCatalogue } from './models/catalogue-events.ts';
import { startModelScan } from './models/model-scan.ts';
import { createValidatedModels } from './models/validated-models.ts';
import { openRestartCoordinator } from './restart/restart-coordinator.ts';
import { openLogLevels } from './log-levels/log-levels.ts';

/** Control plane: agents, models and the configuration. */
export const registry = defineService({
  contract,
  version: '0.1.0',
  settings: ['agents', 'routing', 'tenantId', 'models', 'providers', 'embedding', 'logLevel', 'daemon', 'security'],

  async setup({ settings, store, bus, log, own, replica, env, configuration }) {
    const {
      agents: collection,
      validated,
      ...configCollections
    } = await store.open({
      agents: agentCollection,
      validated: validatedCollection,
      versions: configVersionCollection,
      layers: configLayerCollection,
      heads: configHeadCollection,
    });
    const secret = ignoreUnavailable(createSecretReader(bus, contract.service));
    const models = createModels({ settings: () => settings.current, secret: (name, origin) => secret(name, origin, 'provider'), env, log });
    own.use(await followSecrets(bus, () => models.clearKeyCache()));
    const tenants = own.use(await watchTenants(bus));
    const agents = createAgents({ collection, configuration, tenants: tenants.all, log, env });
    const projector = await openProjector(bus, agents);
    tenants.onNew((tenant) => {
      projector
        .refresh(tenant, agents.defaultId())
        .catch((err: unknown) => log.error({ err, tenant }, 'failed to project the default agent of a tenant'));
    });
    await projector.rebuild();
    own.defer(bus.onRestored(() => projector.rebuild()));
    own.defer(
      settings.onChange(() => {
        projector.rebuild().catch((err: unknown) => log.error({ err }, 'failed to project the agents after a configuration change'));
      }),
    );
    const levels = own.use(await openLogLevels(bus, log));
    own.defer(onLogLevelChange(settings, () => levels.followConfiguration(), log));
    const deps = { agents, collection, store, projector, models, secret, configuration, env };
    const opened = await openConfig({ ...configCollections, store, bus, configuration, own, replica, log, webhook: { settings, secret } });
    const config = { ...opened, env, checkAgents: (proposed: ProposedConfiguration) => checkConfigAgents(deps, proposed) };
    const validatedModels = createValidatedModels(validated.for({ tenant: settings.current.tenantId }), store);
    own.use(announceCatalogue({ models, settings, bus, log }));
    own.use(startModelScan({ agents, models, settings, validated: validatedModels, log }));
    const restarts = own.use(await openRestartCoordinator({ bus, replicas: config.replicas, configuration, store, log }));
    return {
      'config.get': configGet(config),
      'config.read': configRead(config),
      'config.schema': configSchema(),
      'config.apply': configApply(config),
      'config.patch': configPatch(config),
      'config.set': configSet(config),
      'config.write': configWrite(config, deps),
      'config.rollback': configRollback(config),
      'config.gc': configGc(config),
      'config.history': configHistory(config),
      'config.diff': configDiff(config),
      'agents.list': agentsList(agents),
      'agents.create': agentsCreate(deps),
      'agents.get': agentsGet(agents),
      'agents.update': agentsUpdate(deps),
      'agents.delete': agentsDelete(deps),
      'agents.suspend': agentsSuspend(deps),
      'agents.resume': agentsResume(deps),
      'agents.visible': agentsVisible(agents, models),
      'models.list_providers': modelsListProviders({ agents, models, configuration }),
      'models.list': modelsList({ agents, models, configuration }, validatedModels),
      'models.test': modelsTest(models, validatedModels),
      'models.visible': modelsVisible(agents, models),
      'models.prices': modelsPrices(models),
      'models.embed': modelsEmbed({ agents, models, settings }),
      'gateway.status': gatewayStatus(config, restarts),
      'gateway.restart': gatewayRestart(restarts, configuration),
      'daemon.setLogLevel': daemonSetLogLevel(levels, configuration),
    };
  },
});

/** Without a secrets service only keys of the environment are available. */
function ignoreUnavailable(read: SecretReader): SecretReader {
  return async (...request) => {
    try {
      return await read(...request);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'UNAVAILABLE') return null;
      throw error;
    }
  };
}

/** Runs when a configuration change sets another log level. */
function onLogLevelChange(settings: Settings<'logLevel'>, reset: () => Promise<void>, log: Logger): () => void {
  let { logLevel } = settings.current;
  return settings.onChange((current) => {
    if (current.logLevel === logLevel) return;
    logLevel = current.logLevel;
    reset().catch((err: unknown) => log.error({ err, logLevel }, 'failed to reset runtime log levels; they still override logLevel'));
  });
}
