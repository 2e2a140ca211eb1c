import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, RpcError, type Client } from '@switchyard/client';
import { SERVICES, type Result, type ServiceName } from '@switchyard/contracts';
import { chatUrl, contents } from '../e2e/clients.ts';
import { startProduct, type Running } from '../e2e/embedded.ts';
import { openSocket } from '../e2e/exchange.ts';
import { isNamed, listen } from '../e2e/listening.ts';
import { getProcesses, getProcess, replaced, SKIP } from './processes.ts';

const WORKERS = 4;
const PAUSE_MS = 20;
const config = { agents: { default: {}, slow: { provider: 'dev', model: 'slow' } } };
/** The default of gateway.drainDelayMs; other tests set 0 to save time. */
const env = { SWITCHYARD_GATEWAY__DRAIN_DELAY_MS: '1000' };

describe('rolling restart and drain', { skip: SKIP, timeout: 600_000 }, () => {
  let product: Running;
  before(async () => void (product = await startProduct('cluster', { config, env })));
  after(() => product[Symbol.asyncDispose]());

  test('a rolling restart of every service under load fails no call, loses no turn and repeats none', async () => {
    await using load = startLoad(product);
    const old = (await getProcesses(product)).filter(({ service }) => SERVICES.includes(service as ServiceName));
    assert.ok(old.length >= 8, 'there is something to restart');
    const requests = await Promise.all([load.client, load.client].map((client) => client.call('gateway.restart', {})));
    assert.deepEqual(requests, [{ restarting: true }, { restarting: true }]);
    for (let restart = await load.restart(); restart?.state !== 'done'; restart = await load.restart()) {
      assert.equal(restart?.state, 'running', JSON.stringify(restart));
      await load.another(WORKERS);
    }
    const names = old.map(({ service, replica }) => `${service}.${replica}`);
    assert.deepEqual((await load.restart())?.restarted.toSorted(), names.toSorted(), 'each once, though it was asked for twice');
    for (const one of old) await replaced(product, one);
    const texts = await load.end();
    for (const [channel, messages] of texts) {
      const asked = (await contents(product, channel)).filter((_, at) => at % 2 === 0);
      assert.deepEqual(asked, messages, 'each was asked once, in its order');
    }
    assert.match(product.process.output(), /sessions-1 \(process \d+\) ended with code 0/);
    assert.doesNotMatch(product.process.output(), /was killed|ended with code [^0]/);
  });

  test('a draining gateway sends a WebSocket its position, and the stream continues at the other gateway', async () => {
    const question = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ');
    using stream = listen(chatUrl(product, { message: question, agentId: 'slow', sessionKey: 'rolled' }));
    const sockets = await Promise.all(Array.from({ length: 4 }, () => openSocket(product, product.token)));
    await stream.until(isNamed('token'));
    const gateways = [await getProcess(product, 'gateway-1'), await getProcess(product, 'gateway-2')];
    for (const one of gateways) {
      process.kill(one.pid, 'SIGTERM');
      await replaced(product, one);
    }
    const closed = await Promise.all(sockets.map((socket) => socket.closed));
    assert.deepEqual(
      closed,
      closed.map(() => ({ code: 1001, reason: 'Server shutting down' })),
    );
    const { name, data } = await stream.until(isNamed('done', 'error'));
    assert.equal(name, 'done', JSON.stringify(data));
    assert.match(String(data['response']), /word0 .*word59$/);
    assert.ok(stream.statuses.length > 1, 'it came back');
    assert.equal((await contents(product, 'rolled')).length, 2, 'the question was asked once');
  });
});

interface Load extends AsyncDisposable {
  readonly client: Client;
  /** Progress of the restart, read over the same clients. */
  restart(): Promise<Result<'gateway.status'>['restart']>;
  /** Resolves after this number of further answers. */
  another(answers: number): Promise<void>;
  /** The answers of each channel, in order. Rejects with the first permanent failure. */
  end(): Promise<Map<string, string[]>>;
}

/** Starts clients that send messages continuously, each in its own session, and retry UNAVAILABLE. */
function startLoad({ url, token }: Running): Load {
  const client = createClient({ url, token });
  const said = new Map<string, string[]>();
  let ending = false;
  let answers = 0;

  async function talk(channel: string): Promise<void> {
    const messages: string[] = [];
    said.set(channel, messages);
    for (let n = 0; !ending; n++) {
      const message = `${channel} says ${n}`;
      const { response } = await execute(client, { message, channel, key: `${channel}-${n}` });
      assert.match(response, new RegExp(`${message}$`));
      messages.push(message);
      answers++;
      await sleep(PAUSE_MS);
    }
  }

  const talking = Promise.all(Array.from({ length: WORKERS }, (_, at) => talk(`load-${at}`)));
  talking.catch(() => undefined);
  const end = async (): Promise<Map<string, string[]>> => {
    ending = true;
    await talking;
    return said;
  };
  return {
    client,
    restart: async () => (await patiently(() => client.call('gateway.status', {}))).restart,
    async another(more) {
      const enough = answers + more;
      while (answers < enough) await Promise.race([sleep(PAUSE_MS), talking]);
    },
    end,
    async [Symbol.asyncDispose]() {
      await end().catch(() => undefined);
      client.close();
    },
  };
}

function execute(client: Client, { message, channel, key }: { message: string; channel: string; key: string }) {
  return patiently(() => client.call('agent.execute', { message, sessionKey: { channelId: channel } }, { idempotencyKey: key }));
}

/** Repeats a call while the answer is UNAVAILABLE. */
async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof RpcError) || error.data.code !== 'UNAVAILABLE' || !error.retryable) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
