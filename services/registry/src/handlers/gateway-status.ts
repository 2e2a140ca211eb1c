import type { Handler } from '@switchyard/bus';
import { MAX, OBJECT_SECTIONS, type RollingRestart } from '@switchyard/contracts';
import type { ConfigurationSource } from '@switchyard/service-kit';
import type { InForce } from '../config/in-force.ts';
import type { Restarts } from '../restart/open-restart.ts';

/** Reading the memory use costs more than the rest of the answer, so it is read once in this time. */
const MEMORY_FRESH_MS = 1_000;

interface Given {
  configuration: Pick<ConfigurationSource, 'files' | 'notInForce'>;
  inForce: InForce;
}

export function gatewayStatus({ configuration, inForce }: Given, restarts: Pick<Restarts, 'last'>): Handler<'gateway.status'> {
  let rss = 0;
  let readAt = -Infinity;
  const memoryUsage = (): number => {
    const now = performance.now();
    if (now - readAt >= MEMORY_FRESH_MS) {
      rss = process.memoryUsage.rss();
      readAt = now;
    }
    return rss;
  };
  const sections = [...OBJECT_SECTIONS];
  return () => {
    const now = inForce();
    const notInForce = configuration.notInForce();
    const restart = restarts.last();
    return {
      pid: process.pid,
      uptime: process.uptime(),
      memoryUsage: memoryUsage(),
      nodeVersion: process.version,
      configPaths: [...configuration.files()],
      sections,
      notInForce: notInForce.length === 0 ? [] : notInForce.slice(0, MAX.many),
      ...(now === undefined ? {} : { configuration: now }),
      ...(restart === undefined ? {} : { restart: progressOf(restart) }),
    };
  };
}

function progressOf({ state, since, by, restarted, turn, waiting, reason }: RollingRestart) {
  const names = waiting.flatMap(({ replicas }) => replicas);
  return { state, since, by, restarted, leaving: turn?.replicas ?? [], waiting: names, ...(reason === undefined ? {} : { reason }) };
}
