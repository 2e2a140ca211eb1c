import { readRunFile } from '@switchyard/launcher';
import { readEnvironment } from '@switchyard/service-kit';
import { endLeftovers, findLeftovers } from './leftovers.ts';
import { LAUNCHER } from './services.ts';

/** As long as the longest drain of its processes one after the other may take. */
const GRACE_MS = 150_000;

const { data } = await readEnvironment(process.env);
const running = await findLeftovers(readRunFile(data)?.processes ?? []);
const launcher = running.filter(({ service }) => service === LAUNCHER);
// The launcher ends the others in their order. Where it was killed, somebody else has to.
await endLeftovers(launcher.length > 0 ? launcher : running, GRACE_MS);
process.stdout.write(
  running.length === 0 ? `no cluster runs with the data in ${data}\n` : `the cluster with the data in ${data} has ended\n`,
);
