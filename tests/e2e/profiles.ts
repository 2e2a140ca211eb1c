import { after, before, describe } from 'node:test';
import { startProduct, type Profile, type Running, type StartOptions } from './embedded.ts';

const PROFILES: readonly Profile[] = ['embedded', 'cluster'];
/** `embedded` or `cluster`; both unless said. */
const TARGET = process.env['SWITCHYARD_TEST_TARGET'];
if (TARGET !== undefined && !PROFILES.includes(TARGET as Profile))
  throw new Error(`SWITCHYARD_TEST_TARGET must be ${PROFILES.join(' or ')}`);

/** For all tests of a profile together; what hangs is found out. */
const SUITE_MS = 90_000;
const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

function skipped(profile: Profile): string | false {
  if (TARGET !== undefined && profile !== TARGET) return `SWITCHYARD_TEST_TARGET=${TARGET}`;
  return profile === 'cluster' && NATS_OFF;
}

export interface SuiteOptions {
  /** How the product of one profile is started. What it talks to is set up here, and kept for as long by `stack`. */
  start?: (stack: AsyncDisposableStack) => StartOptions | Promise<StartOptions>;
  /** All tests of one profile at once: they must not share a session. */
  concurrency?: boolean;
}

/** The same tests on one process and on a cluster of processes with real servers, against one product each. */
export function onEachProfile(title: string, define: (product: Running, profile: Profile) => void, options: SuiteOptions = {}): void {
  for (const profile of PROFILES) {
    describe(`${title}, ${profile}`, { skip: skipped(profile), timeout: SUITE_MS, concurrency: options.concurrency ?? false }, () => {
      const stack = new AsyncDisposableStack();
      let running: Running | undefined;
      before(async () => {
        running = stack.use(await startProduct(profile, await options.start?.(stack)));
      });
      after(() => stack.disposeAsync());
      define(
        lazily(() => {
          if (running === undefined) throw new Error('the product did not start');
          return running;
        }),
        profile,
      );
    });
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
    get data() {
      return running().data;
    },
    get process() {
      return running().process;
    },
    [Symbol.asyncDispose]: () => running()[Symbol.asyncDispose](),
  };
}
