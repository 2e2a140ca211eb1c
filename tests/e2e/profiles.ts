import { after, before, describe } from 'node:test';
import { startProduct, type Profile, type Running, type StartOptions } from './embedded.ts';
import { openTenant, sharedCluster } from './shared-cluster.ts';
import { isQuick } from './suite.ts';

const PROFILES: readonly Profile[] = ['embedded', 'cluster'];
/** `embedded` or `cluster`; default: both. */
const TARGET = process.env['SWITCHYARD_TEST_TARGET'];
if (TARGET !== undefined && !PROFILES.includes(TARGET as Profile))
  throw new Error(`SWITCHYARD_TEST_TARGET must be ${PROFILES.join(' or ')}`);

/** Time limit of all tests of a profile. */
const SUITE_MS = 90_000;
const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

function skipReason(profile: Profile, shareCluster: boolean): string | false {
  if (TARGET !== undefined && profile !== TARGET) return `SWITCHYARD_TEST_TARGET=${TARGET}`;
  if (profile === 'embedded') return false;
  return isQuick() && !(shareCluster && sharedCluster() !== undefined) ? 'runs on a cluster in make test-full' : NATS_OFF;
}

export interface SuiteOptions {
  /** Returns the start options of a profile. `stack` disposes of the servers that the product uses. */
  start?: (stack: AsyncDisposableStack) => StartOptions | Promise<StartOptions>;
  /** Runs the tests of a profile concurrently. They must not share a session. */
  concurrency?: boolean;
  /** The cluster may be that of the test run. The tests use a tenant of their own and change nothing outside of it. */
  shareCluster?: boolean;
}

/** Declares the tests for one process and for a cluster with real servers. The tests of a profile share one product. */
export function onEachProfile(title: string, define: (product: Running, profile: Profile) => void, options: SuiteOptions = {}): void {
  for (const profile of PROFILES) {
    describe(
      `${title}, ${profile}`,
      { skip: skipReason(profile, options.shareCluster ?? false), timeout: SUITE_MS, concurrency: options.concurrency ?? false },
      () => {
        const stack = new AsyncDisposableStack();
        let running: Running | undefined;
        before(async () => {
          const shared = profile === 'cluster' && options.shareCluster ? sharedCluster() : undefined;
          running = stack.use(shared ? await openTenant(shared) : await startProduct(profile, await options.start?.(stack)));
        });
        after(() => stack.disposeAsync());
        define(
          lazily(() => {
            if (running === undefined) throw new Error('the product did not start');
            return running;
          }),
          profile,
        );
      },
    );
  }
}

/** Reads the product lazily, because tests are declared before it runs. */
function lazily(running: () => Running): Running {
  return {
    get url() {
      return running().url;
    },
    get token() {
      return running().token;
    },
    get client() {
      return running().client;
    },
    get tenant() {
      return running().tenant;
    },
    get data() {
      return running().data;
    },
    get process() {
      return running().process;
    },
    [Symbol.asyncDispose]: () => running()[Symbol.asyncDispose](),
  };
}
