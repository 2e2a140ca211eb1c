import { SHARED_SERVERS_VARIABLE, startNatsForAccounts, startOwnMongo, tempDir, type SharedServers } from '@switchyard/testkit';
import { startProduct } from '../../tests/e2e/embedded.ts';

/** A file that opens NATS more often starts servers of its own. */
const ACCOUNTS_PER_UNIT = 8;

export interface RunServers extends AsyncDisposable {
  /** The environment of a unit: where the servers of the run are, and the NATS accounts that only this unit uses. */
  getEnv(unit: number, options: { cluster: boolean }): Promise<Record<string, string>>;
}

/**
 * Starts the servers that all test files of a run share: one MongoDB or its stand-in, one NATS with accounts per unit, and, if a
 * file uses it, one cluster of the product. The cluster starts while other files run; its files wait for it.
 */
export async function startServers(units: number, options: { cluster: boolean }): Promise<RunServers> {
  await using stack = new AsyncDisposableStack();
  const accounts = (unit: number): string[] => Array.from({ length: ACCOUNTS_PER_UNIT }, (_, at) => `unit${unit}n${at}`);
  const all = Array.from({ length: units }, (_, unit) => accounts(unit)).flat();
  const [mongo, nats] = await Promise.all([
    startOwnMongo().catch(report),
    process.env['SWITCHYARD_TEST_NATS'] === 'off' ? undefined : startNatsForAccounts(all).catch(report),
  ]);
  stack.defer(() => mongo?.stop());
  stack.defer(() => nats?.stop());
  const cluster = options.cluster ? startCluster() : undefined;
  // A failed start is reported by each file that waits for the cluster.
  cluster?.catch(() => undefined);
  stack.defer(async () => (await cluster?.catch(() => undefined))?.[Symbol.asyncDispose]());
  const running = stack.move();
  return {
    async getEnv(unit, needs) {
      const urls = nats === undefined ? [] : accounts(unit).map((name) => `nats://${name}:${name}@127.0.0.1:${nats.port}`);
      const shared: SharedServers = { nats: urls };
      if (mongo !== undefined) shared.mongo = { url: mongo.url, name: mongo.name, real: mongo.real };
      if (needs.cluster) {
        const { url: address, token, data } = (await cluster) ?? {};
        if (address !== undefined && token !== undefined && data !== undefined) shared.cluster = { url: address, token, data };
      }
      return { [SHARED_SERVERS_VARIABLE]: JSON.stringify(shared) };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function startCluster(): ReturnType<typeof startProduct> {
  const dir = await tempDir();
  const cluster = await startProduct('cluster', { data: dir.path });
  return {
    ...cluster,
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** Files that need a missing server fail with the same reason. */
function report(error: unknown): undefined {
  console.error(String(error));
}
