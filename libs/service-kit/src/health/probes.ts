import { observe, observeProcess } from '@switchyard/telemetry';
import type { Logger } from '@switchyard/telemetry';
import type { HealthRegistry } from './health-registry.ts';
import type { ProbeAddress } from './probe-listener.ts';
import { openMetricsServer } from './metrics-server.ts';

/** A port number, or 0 for a free port. */
export type ProbePort = number | 'off';

/** The addresses of the metrics and health servers; a port is undefined if the environment does not set it. */
export interface ProbeSettings {
  host: string;
  metrics: ProbePort | undefined;
  health: ProbePort | undefined;
}

/** The open probe servers of this process. */
export interface Probes extends AsyncDisposable {
  /** Ports by server: `metrics`, `health`. */
  readonly ports: Readonly<Record<string, number>>;
}

export interface ProbesOptions {
  probes: ProbeSettings;
  /** Default port of the metrics server; a free port if it is in use. */
  metricsPort: number | undefined;
  health: HealthRegistry;
  log: Logger;
}

const ALL = 'all';

/** Opens the probe servers. They open before the process waits for dependencies, so that monitoring sees the wait, and close last. */
export async function openProbes({ probes, metricsPort, health, log }: ProbesOptions): Promise<Probes> {
  await using opening = new AsyncDisposableStack();
  const ports: Record<string, number> = {};
  const metrics = getAddress(probes.host, probes.metrics ?? metricsPort, 'SWITCHYARD_METRICS_PORT');
  opening.defer(observeHealth(health));
  if (metrics) {
    opening.defer(observeProcess());
    const server = opening.use(await openMetricsServer(health, { ...metrics, orFree: probes.metrics === undefined }));
    ports['metrics'] = server.port;
  }
  const probe = getAddress(probes.host, probes.health, 'SWITCHYARD_HEALTH_PORT');
  if (probe) {
    const { openHealthServer } = await import('./grpc-health-server.ts');
    const server = opening.use(await openHealthServer(health, probe));
    ports['health'] = server.port;
  }
  if (Object.keys(ports).length > 0) log.info({ host: probes.host, ...ports }, 'can be watched');
  const opened = opening.move();
  return { ports, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

function getAddress(host: string, port: number | 'off' | undefined, variable: string): ProbeAddress | undefined {
  return port === undefined || port === 'off' ? undefined : { host, port, variable };
}

/** Adds a metric series for each dependency when it is registered. */
function observeHealth(health: HealthRegistry): () => void {
  const observed = new Map<string, () => void>();
  function look(): void {
    for (const name of Object.keys(health.readiness().dependencies)) {
      if (observed.has(name)) continue;
      const read = (): number => Number(health.readiness().dependencies[name]?.ready ?? false);
      observed.set(name, observe('switchyard.ready', { dependency: name }, read));
    }
  }
  const ends = [health.follow(look), observe('switchyard.ready', { dependency: ALL }, () => Number(health.readiness().ready))];
  look();
  return () => {
    for (const end of [...ends, ...observed.values()]) end();
  };
}
