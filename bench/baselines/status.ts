import { OBJECT_SECTIONS } from '@switchyard/contracts';

const SECTIONS = [...OBJECT_SECTIONS];
const IN_FORCE = { sha: '0'.repeat(64), revision: 1, replicas: 4, lagging: [] };
const FRESH_MS = 1_000;

let resident = 0;
let readAt = Number.NEGATIVE_INFINITY;

/** The JSON of a `gateway.status` result. Memory is read once a second, because reading it costs more than the NATS hop. */
export function statusJson(): string {
  const now = performance.now();
  if (now - readAt > FRESH_MS) {
    readAt = now;
    resident = process.memoryUsage.rss();
  }
  const { pid, version } = process;
  return JSON.stringify({
    pid,
    uptime: now / 1_000,
    memoryUsage: resident,
    nodeVersion: version,
    configPaths: [],
    sections: SECTIONS,
    notInForce: [],
    configuration: IN_FORCE,
  });
}
