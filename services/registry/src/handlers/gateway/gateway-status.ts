import { createEncoder, type Handler } from '@switchyard/bus';
import { MAX, OBJECT_SECTIONS, type Result, type RollingRestart } from '@switchyard/contracts';
import type { ConfigurationSource } from '@switchyard/service-kit';
import type { GetActiveVersion } from '../../config/active-version.ts';
import type { RestartCoordinator } from '../../restart/restart-coordinator.ts';

/** Reading the memory usage costs more than the rest of the answer, so it is cached. */
const MEMORY_TTL_MS = 1_000;

interface GatewayStatusDeps {
  configuration: Pick<ConfigurationSource, 'files' | 'notInForce' | 'current'>;
  inForce: GetActiveVersion;
}

export function gatewayStatus(
  { configuration, inForce }: GatewayStatusDeps,
  restarts: Pick<RestartCoordinator, 'last'>,
): Handler<'gateway.status'> {
  let rss = 0;
  let readAt = -Infinity;
  const memoryUsage = (): number => {
    const now = performance.now();
    if (now - readAt >= MEMORY_TTL_MS) {
      rss = process.memoryUsage.rss();
      readAt = now;
    }
    return rss;
  };
  const { pid, version: nodeVersion } = process;
  /** Administrators of other tenants configure agents only, and learn nothing of the machine. */
  const encodeForOtherTenant = createEncoder({ pid: 0, nodeVersion, configPaths: [], sections: ['agents' as const], notInForce: [] });
  const sections = [...OBJECT_SECTIONS];
  let cached: { sources: readonly unknown[]; encode: Encode } | undefined;

  /** Caches the encoded static part until one of its sources changes. */
  function getEncoder(): Encode {
    const [now, files, ineffective, restart] = [inForce(), configuration.files(), configuration.notInForce(), restarts.last()];
    const sources = [now, files, ineffective, restart];
    if (cached?.sources.every((one, at) => one === sources[at])) return cached.encode;
    const encode = createEncoder({
      pid,
      nodeVersion,
      configPaths: [...files],
      sections,
      notInForce: ineffective.slice(0, MAX.many),
      ...(now === undefined ? {} : { configuration: now }),
      ...(restart === undefined ? {} : { restart: describeProgress(restart) }),
    });
    cached = { sources, encode };
    return encode;
  }

  return (_params, { principal }) => {
    const encode = principal.tenant === configuration.current.tenantId ? getEncoder() : encodeForOtherTenant;
    return encode({ uptime: process.uptime(), memoryUsage: memoryUsage() });
  };
}

type Encode = ReturnType<typeof createEncoder<Omit<Result<'gateway.status'>, 'uptime' | 'memoryUsage'>>>;

function describeProgress({ state, since, by, restarted, turn, waiting, reason }: RollingRestart) {
  const names = waiting.flatMap(({ replicas }) => replicas);
  return { state, since, by, restarted, leaving: turn?.replicas ?? [], waiting: names, ...(reason === undefined ? {} : { reason }) };
}
