import { defineContract } from '../definition/define.ts';
import { agentsMethods } from './agents.ts';
import { configMethods } from './config.ts';
import { daemonMethods } from './daemon.ts';
import { registryEvents } from './events.ts';
import { gatewayMethods } from './gateway.ts';
import { modelsMethods } from './models.ts';
import { registryOperations } from './operations.ts';

export const registry = defineContract({
  service: 'registry',
  methods: { ...configMethods, ...agentsMethods, ...modelsMethods, ...gatewayMethods, ...daemonMethods },
  operations: registryOperations,
  events: registryEvents,
});
