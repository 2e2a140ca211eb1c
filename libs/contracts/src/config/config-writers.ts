import type { ServiceName } from '../definition/define.ts';

/** A method that persists configuration through `config.write`, and the paths that it may write; `*` matches one name. */
export interface ConfigWriter {
  service: ServiceName;
  paths: readonly string[];
}

/** The methods that persist configuration through `config.write`. These paths may be immutable for `config.set`. */
export const CONFIG_WRITERS = {
  'heartbeat.update': { service: 'scheduler', paths: ['agents.*.scheduler.heartbeat'] },
  'channels.enable': { service: 'channels', paths: ['channels.*.enabled'] },
  'channels.disable': { service: 'channels', paths: ['channels.*.enabled'] },
  'mcp.connect': { service: 'tools', paths: ['integrations.mcp.servers'] },
} as const satisfies Record<string, ConfigWriter>;

export type ConfigWriterName = keyof typeof CONFIG_WRITERS;

export const CONFIG_WRITER_NAMES = Object.keys(CONFIG_WRITERS) as [ConfigWriterName, ...ConfigWriterName[]];

/** The services that call `config.write`. */
export const CONFIG_WRITING_SERVICES: readonly ServiceName[] = [...new Set(Object.values(CONFIG_WRITERS).map(({ service }) => service))];
