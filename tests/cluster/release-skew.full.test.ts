import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, RpcError } from '@switchyard/client';
import { publicMethods, type MethodName } from '@switchyard/contracts';
import { tempDir, type NatsServer, type StartedProcess } from '@switchyard/testkit';
import { BUILT, provision, startDeliveredServer, startOne, TOKEN } from '../nats/house.ts';
import { extractRelease, findPreviousRelease } from './previous-release.ts';
import { SKIP } from './processes.ts';

const RETRY_MS = 100;
const ROOMY = { SWITCHYARD_GATEWAY__RATE_LIMIT__MAX_REQUESTS: '1000000' };
const CHANNEL = 'skew';
const READS = [...publicMethods.keys()].filter((name) => /\.(list|status|stats)$/.test(name)) as MethodName[];
/** Fewer would mean that the selection of methods is broken. */
const MIN_READS = 8;

const previous = findPreviousRelease();

// Upgrades and rollbacks of single services: every service meets the others of its own release and of the one before or after it, and
// reads the documents of both.
describe('services one release apart', { skip: SKIP || (previous.missing ?? false), timeout: 900_000 }, () => {
  const house = new AsyncDisposableStack();
  const running = new Map<string, StartedProcess>();
  let [server, data, old]: [NatsServer | undefined, string, string] = [undefined, '', ''];
  let services: readonly string[] = [];
  let readable: readonly MethodName[] = [];
  const messages: string[] = [];

  before(async () => {
    [data, old] = [house.use(await tempDir()).path, `${house.use(await tempDir()).path}/`];
    extractRelease(previous.commit ?? assert.fail('there is no release'), old);
    services = BUILT.filter((name) => existsSync(`${old}services/${name}/src/main.ts`));
    server = await startDeliveredServer();
    house.defer(() => server?.stop());
    // The platform is upgraded first.
    assert.match(await provision(server), /^0 provisioned/);
    const starts = services.map((service) => start(service, old));
    await Promise.allSettled(starts);
    await Promise.all(starts);
  });
  after(async () => {
    await Promise.allSettled([...running.values()].map((one) => one[Symbol.asyncDispose]()));
    await house.disposeAsync();
  });

  test('services of the previous release answer', async () => {
    const outcomes = await Promise.all(
      READS.map((name) =>
        read(name).then(
          () => true,
          () => false,
        ),
      ),
    );
    readable = READS.filter((_, index) => outcomes[index]);
    assert.ok(readable.length >= MIN_READS, readable.join(' '));
    await converse('before');
  });

  test('each upgraded service works with services of the previous release', async () => {
    for (const service of services) await replace(service);
  });

  test('each service that is rolled back works with services of this release', async () => {
    for (const service of services) await replace(service, old);
  });

  /** Replaces one service with its other release, which continues on the same documents, and uses the product. */
  async function replace(service: string, repository?: string): Promise<void> {
    await running.get(service)?.end();
    await start(service, repository);
    await converse(`${service} ${repository === undefined ? 'upgraded' : 'rolled back'}`);
    for (const name of readable) await assert.doesNotReject(read(name), `${name} after ${messages.at(-1)}`);
  }

  async function start(service: string, repository?: string): Promise<void> {
    const options = { data, ready: /"msg":"serving"/, env: ROOMY, ...(repository === undefined ? {} : { repository }) };
    running.set(service, await startOne(server ?? assert.fail('NATS does not run'), service, options));
  }

  /** A turn, a streamed turn, and the messages of all turns so far. */
  async function converse(message: string): Promise<void> {
    const sessionKey = { channelId: CHANNEL };
    const idempotencyKey = message.replaceAll(' ', '-');
    const { response } = await patiently((client) => client.call('agent.execute', { message, sessionKey }, { idempotencyKey }));
    assert.match(response, new RegExp(`You said: ${message}$`));
    messages.push(message);
    const last = await patiently(async (client) => {
      const types: string[] = [];
      for await (const event of client.chat(message, { sessionKey: `${CHANNEL}-${messages.length}` })) types.push(event.type);
      return types.at(-1);
    });
    assert.equal(last, 'done', message);
    const { messages: kept } = await patiently((client) => client.call('session.history', { channelId: CHANNEL, limit: 1_000 }));
    assert.deepEqual(
      kept.filter(({ role }) => role === 'user').map(({ content }) => content),
      messages,
    );
  }

  function read(name: MethodName): Promise<unknown> {
    return patiently((client) => client.call(name, {}));
  }

  /** Repeats a call while a service is replaced. */
  async function patiently<T>(call: (client: ReturnType<typeof createClient>) => Promise<T>): Promise<T> {
    const [, url = ''] = /"url":"(http[^"]+)"/.exec(running.get('gateway')?.output() ?? '') ?? [];
    const client = createClient({ url, token: TOKEN });
    try {
      for (;;) {
        try {
          return await call(client);
        } catch (error) {
          if (!(error instanceof RpcError) || error.data.code !== 'UNAVAILABLE' || !error.retryable) throw error;
          await sleep(RETRY_MS);
        }
      }
    } finally {
      client.close();
    }
  }
});
