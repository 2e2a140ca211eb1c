import { statfs } from 'node:fs/promises';
import { cpus, freemem, totalmem, type CpuInfo } from 'node:os';
import type { SystemAlert, SystemCheck } from './system-check.ts';

/** Agents whose heartbeats are due at the same time share a result. */
const TTL_MS = 10_000;
const PERCENT = 100;

/** Checks how full the file systems of the configured paths are, as `df` reports it. */
export const diskCheck: SystemCheck = {
  name: 'disk',
  ttlMs: TTL_MS,
  isEnabled: ({ disk }) => disk.enabled && disk.paths.length > 0,
  async run({ disk }) {
    const alerts = await Promise.all(disk.paths.map((path) => checkPath(path, disk.thresholdPercent)));
    return alerts.flatMap((alert) => alert ?? []);
  },
};

async function checkPath(path: string, thresholdPercent: number): Promise<SystemAlert | undefined> {
  const { blocks, bfree, bavail } = await statfs(path);
  const used = blocks - bfree;
  // Reserved blocks are neither used nor available.
  const percent = used + bavail === 0 ? 0 : (used / (used + bavail)) * PERCENT;
  return describeExcess({ key: `disk ${path}`, subject: `The file system of ${path}`, percent, thresholdPercent });
}

/** Checks the load of all processors since the previous check, and the used memory. The first check measures since the start of the machine. */
export function createResourceCheck(readCpus: () => readonly Pick<CpuInfo, 'times'>[] = cpus): SystemCheck {
  let last = { busy: 0, total: 0 };
  return {
    name: 'resources',
    ttlMs: TTL_MS,
    isEnabled: ({ resources }) => resources.enabled,
    run({ resources: { cpuThresholdPercent, memoryThresholdPercent } }) {
      const now = sumTimes(readCpus());
      const [busy, total] = [now.busy - last.busy, now.total - last.total];
      last = now;
      const cpu = total > 0 ? (busy / total) * PERCENT : 0;
      const memory = (1 - freemem() / totalmem()) * PERCENT;
      const alerts = [
        describeExcess({ key: 'cpu', subject: 'The processor', percent: cpu, thresholdPercent: cpuThresholdPercent }),
        describeExcess({ key: 'memory', subject: 'The memory', percent: memory, thresholdPercent: memoryThresholdPercent }),
      ];
      return Promise.resolve(alerts.flatMap((alert) => alert ?? []));
    },
  };
}

function sumTimes(processors: readonly Pick<CpuInfo, 'times'>[]): { busy: number; total: number } {
  let [busy, total] = [0, 0];
  for (const { times } of processors) {
    const all = times.user + times.nice + times.sys + times.irq + times.idle;
    total += all;
    busy += all - times.idle;
  }
  return { busy, total };
}

interface Usage {
  key: string;
  subject: string;
  percent: number;
  thresholdPercent: number;
}

function describeExcess({ key, subject, percent, thresholdPercent }: Usage): SystemAlert | undefined {
  if (percent < thresholdPercent) return undefined;
  return { key, text: `${subject} is ${Math.floor(percent)} % used; the limit is ${thresholdPercent} %.` };
}
