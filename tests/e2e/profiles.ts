import { after, before, describe } from 'node:test';
import { startNatsServer } from '@switchyard/testkit';
import { startEmbedded, type Running, type StartOptions } from './embedded.ts';

const PROFILES = ['memory:', 'nats:'] as const;
type Profile = (typeof PROFILES)[number];

/** For all tests of a profile together; what hangs is found out. */
const SUITE_MS = 60_000;
const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

export interface SuiteOptions {
  /** How the product of one profile is started. What it talks to is set up here, and kept for as long by `stack`. */
  start?: (stack: AsyncDisposableStack) => StartOptions | Promise<StartOptions>;
  /** All tests of one profile at once: they must not share a session. */
  concurrency?: boolean;
}

/** The same tests on the in-process bus and on a real NATS server, against one product each. */
export function onEachProfile(title: string, define: (product: Running) => void, options: SuiteOptions = {}): void {
  for (const profile of PROFILES) {
    const skip = profile === 'nats:' && NATS_OFF;
    describe(`${title}, over ${profile}`, { skip, timeout: SUITE_MS, concurrency: options.concurrency ?? false }, () => {
      const stack = new AsyncDisposableStack();
      let running: Running | undefined;
      before(async () => {
        running = stack.use(await startOn(profile, await options.start?.(stack)));
      });
      after(() => stack.disposeAsync());
      define(lazily(() => {
        if (running === undefined) throw new Error('the product did not start');
        return running;
      }));
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
    get data() {
      return running().data;
    },
    get process() {
      return running().process;
    },
    [Symbol.asyncDispose]: () => running()[Symbol.asyncDispose](),
  };
}

async function startOn(profile: Profile, options: StartOptions = {}): Promise<Running> {
  if (profile === 'memory:') return startEmbedded(options);
  await using starting = new AsyncDisposableStack();
  const server = await startNatsServer();
  starting.defer(() => server.stop());
  const running = starting.use(await startEmbedded({ ...options, env: { SWITCHYARD_BUS: server.url, ...options.env } }));
  const started = starting.move();
  return { ...running, [Symbol.asyncDispose]: () => started.disposeAsync() };
}
