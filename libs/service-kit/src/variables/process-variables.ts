import { listStreams, TURNS_LOG } from '@switchyard/contracts';
import { BLOB_VARIABLE_HELP } from './blob-access.ts';
import { BUS_VARIABLE_HELP } from './bus-access.ts';

/** The default data directory, relative to the working directory. */
export const DEFAULT_DATA = '.switchyard';
export const LOOPBACK = '127.0.0.1';
export const MAX_TURN_STREAMS = listStreams(TURNS_LOG).length;
export const MAX_BUS_COPIES = 5;

/** Help texts of the process variables. All other variables named `SWITCHYARD_…` are configuration keys. */
export const PROCESS_VARIABLE_HELP: Readonly<Record<string, { preset: string; means: string }>> = {
  SWITCHYARD_DATA: { preset: DEFAULT_DATA, means: 'data directory; its `run.json` describes the running processes for scripts' },
  SWITCHYARD_TOKEN: {
    preset: 'created once, saved with mode 0600',
    means: 'a token of scope `*`, valid while it is set; at least 32 characters',
  },
  SWITCHYARD_URL: { preset: 'the local gateway', means: 'gateway address for the command and the client library' },
  SWITCHYARD_BUS: { preset: 'memory:', means: '`nats://…`: nats-server with JetStream (`-js`) and `max_payload: 8MB`' },
  ...BUS_VARIABLE_HELP,
  SWITCHYARD_STORE: {
    preset: 'sqlite: in the data directory',
    means: '`sqlite:DIR` for another directory, `mongodb://…/name` for a server, with a database per service',
  },
  SWITCHYARD_CACHE: { preset: 'memory:', means: '`redis://host:port` for rate limits shared by replicas; an outage fails no request' },
  ...BLOB_VARIABLE_HELP,
  SWITCHYARD_CONFIG: {
    preset: 'config.yaml, if it exists',
    means: 'configuration files, separated by colons; later ones override earlier ones',
  },
  SWITCHYARD_REPLICA: { preset: 'generated', means: 'name of this replica in leases, reports and discovery' },
  SWITCHYARD_DEV_TOOLS: {
    preset: 'off',
    means: 'for tests: `on` offers counted tools to turns of a development model',
  },
  SWITCHYARD_METRICS_PORT: {
    preset: 'off; 9464 or a free port in one process',
    means: 'serves `/metrics` for Prometheus, `/livez` and `/readyz`; 0 selects a free port, `off` disables it',
  },
  SWITCHYARD_HEALTH_PORT: { preset: 'off', means: 'serves `grpc.health.v1.Health`; 0 selects a free port' },
  SWITCHYARD_PROBE_HOST: {
    preset: LOOPBACK,
    means: 'listener of the metrics and health ports, which need no token; `0.0.0.0` in a container with a restricted network',
  },
  SWITCHYARD_TURN_STREAMS: {
    preset: '1',
    means: `number of NATS streams for frames of turns, at most ${MAX_TURN_STREAMS}; read by the provisioning job only`,
  },
  SWITCHYARD_BUS_COPIES: {
    preset: '1',
    means: `number of copies of each stream and bucket in a NATS cluster, at most ${MAX_BUS_COPIES}; with 3, one of three servers may fail; read by the provisioning job only`,
  },
};

export const PROCESS_VARIABLES = Object.keys(PROCESS_VARIABLE_HELP);
