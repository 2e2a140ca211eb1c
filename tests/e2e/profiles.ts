import { after, before, describe } from 'node:test';
import { startProduct, type Profile, type Running, type StartOptions } from './embedded.ts';
import { openTenant, sharedCluster } from './shared-cluster.ts';
import { isQuick } from './suite.ts';

const PROFILES: readonly Profile[] = ['embedded', 'cluster'];
/** `embedded` or `cluster`; both unless said. */
const TARGET = process.env['SWITCHYARD_TEST_TARGET'];
if (TARGET !== undefined && !PROFILES.includes(TARGET as Profile))
  throw new Error(`SWITCHYARD_TEST_TARGET must be ${PROFILES.join(' or ')}`);

/** For all tests of a profile together; what hangs is found out. */
const SUITE_MS = 90_000;
const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

function skipReason(profile: Profile, shareCluster: boolean): string | false {
  if (TARGET !== undefined && profile !== TARGET) return `SWITCHYARD_TEST_TARGET=${TARGET}`;
  if (profile === 'embedded') return false;
  return isQuick() && !(shareCluster && sharedCluster() !== undefined) ? 'runs on a cluster in make test-full' : NATS_OFF;
}

export interface SuiteOptions {
  /** How the product of one profile is started. What it talks to is set up here, and kept for as long by `stack`. */
  start?: (stack: AsyncDisposableStack) => StartOptions | Promise<StartOptions>;
  /** All tests of one profile at once: they must not share a session. */
  concurrency?: boolean;
  /** The cluster may be that of the test run. The tests use a tenant of their own and change nothing outside of it. */
  shareCluster?: boolean;
}

/** The same tests on one process and on a cluster of processes with real servers, against one product each. */
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

/** Tests are declared before their product runs. */
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
