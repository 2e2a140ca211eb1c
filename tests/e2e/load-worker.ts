import { workerData } from 'node:worker_threads';

/** CPU work per interval: five percent of one core. */
const WORK_MS = 10;
const EVERY_MS = 200;

const { worst } = workerData as { worst: Float64Array };

setInterval(() => {
  const [began, before] = [performance.now(), process.threadCpuUsage()];
  let used = 0;
  while (used < WORK_MS) {
    const { user, system } = process.threadCpuUsage(before);
    used = (user + system) / 1_000;
  }
  worst[0] = Math.max(worst[0] ?? 0, performance.now() - began - used);
}, EVERY_MS);
