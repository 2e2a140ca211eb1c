import { readRunFile } from '@switchyard/launcher';
import { readEnvironment } from '@switchyard/service-kit';
import { endLeftovers, findLeftovers } from './leftovers.ts';
import { LAUNCHER } from './services.ts';

/** Upper bound of the drains of all processes, one after the other. */
const GRACE_MS = 150_000;

const { data } = await readEnvironment(process.env);
const running = await findLeftovers(readRunFile(data)?.processes ?? []);
const launcher = running.filter(({ service }) => service === LAUNCHER);
// The launcher ends its processes in order. If it was killed, this program ends them.
await endLeftovers(launcher.length > 0 ? launcher : running, GRACE_MS);
process.stdout.write(
  running.length === 0 ? `no cluster runs with the data in ${data}\n` : `stopped the cluster with the data in ${data}\n`,
);
