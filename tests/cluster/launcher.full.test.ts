import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { listBuiltServices, type RunningProcess } from '@switchyard/contracts';
import { healthClient, startProcess, tempDir, type TempDir } from '@switchyard/testkit';
import { contents, openai } from '../e2e/clients.ts';
import { command, launch, linesWritten, startProduct, type Running } from '../e2e/embedded.ts';
import { call } from '../e2e/exchange.ts';
import { answering, isAlive, getProcesses, getProcess, replaced, SKIP } from './processes.ts';

const STOP = new URL('../../scripts/cluster/stop.ts', import.meta.url).pathname;
const SERVERS = ['nats', 'mongodb', 'redis'];

async function gone(processes: readonly RunningProcess[]): Promise<void> {
  while (processes.some(({ pid }) => isAlive(pid))) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('a cluster on one machine', { skip: SKIP, timeout: 600_000 }, () => {
  let data: TempDir;
  let product: Running;
  before(async () => {
    data = await tempDir();
    product = await startProduct('cluster', { data: data.path });
  });
  after(async () => {
    await product[Symbol.asyncDispose]();
    await data[Symbol.asyncDispose]();
  });

  test('run.json and the banner list every process, and each one runs, listens and writes a log', async () => {
    const processes = await getProcesses(product);
    const built = listBuiltServices();
    assert.deepEqual(new Set(processes.map(({ service }) => service)), new Set([...built, ...SERVERS, 'cluster']));
    for (const name of built) assert.equal(processes.filter(({ service }) => service === name).length, 2, name);
    for (const { replica, pid, ports, log } of processes) {
      assert.ok(isAlive(pid), replica);
      assert.ok(product.process.output().includes(replica) && product.process.output().includes(`pid ${pid} `), replica);
      if (replica !== 'cluster') assert.ok(existsSync(log), log);
      for (const port of Object.values(ports)) assert.ok(product.process.output().includes(String(port)), replica);
    }
    await answering(product, processes.filter(isReplica).map(getName));
  });

  test('each service has gRPC health and Prometheus metrics', async () => {
    const services = (await getProcesses(product)).filter(isReplica);
    for (const { service, ports } of services) {
      using client = await healthClient(`127.0.0.1:${ports['health']}`);
      assert.deepEqual([await client.check(''), await client.check(service)], ['SERVING', 'SERVING']);
      const metrics = await fetch(`http://127.0.0.1:${ports['metrics']}/metrics`);
      assert.match(await metrics.text(), new RegExp(`^switchyard_service_info\\{service="${service}",`, 'm'));
    }
    assert.ok(services.length >= 5);
  });

  test('the CLI finds the cluster, and status lists each process', async () => {
    const { code, stdout } = await command(product, 'status');
    assert.equal(code, 0, stdout);
    for (const { replica, pid } of await getProcesses(product)) assert.match(stdout, new RegExp(`${replica} .*pid ${pid} alive`));
  });

  test('stored files are private to the user, and no password is in a log or on a command line', async () => {
    const keys = `${product.data}/cluster/keys`;
    assert.equal(statSync(keys).mode & 0o777, 0o700);
    const { readdir, readFile } = await import('node:fs/promises');
    const passwords = await Promise.all((await readdir(keys)).map((name) => readFile(`${keys}/${name}`, 'utf8')));
    const written = (await linesWritten(product)).join('\n') + product.process.output();
    await using ps = await startProcess(['ps', '-eww', '-o', 'command=']);
    await ps.exited;
    for (const password of [...passwords, product.token]) {
      assert.ok(!written.includes(password.trim()), 'in a log');
      assert.ok(!ps.output().includes(password.trim()), 'on a command line');
    }
  });

  test('restarts a killed process and records its new pid in run.json', async () => {
    for (const replica of ['secrets-1', 'sessions-2', 'gateway-1']) {
      const victim = await getProcess(product, replica);
      process.kill(victim.pid, 'SIGKILL');
      const next = await replaced(product, victim);
      assert.deepEqual([next.ports, next.log], [victim.ports, victim.log]);
      await product.process.line(new RegExp(`${replica} \\(process ${victim.pid}\\) was ended by SIGKILL; restarting`));
    }
    assert.equal((await openai(product).models.list()).data.length > 1, true);
  });

  test('a second launcher on the same data names the process that uses it', async () => {
    await using second = await launch(product.data, {}, { profile: 'cluster' });
    assert.equal((await second.exited).code, 1);
    assert.match(second.output(), new RegExp(`^the cluster cannot start: .* in use by process ${product.process.pid};.*\n$`));
  });

  test('make cluster-stop ends the cluster, and the next one keeps token and conversations', async () => {
    await call(product, 'agent.execute', { message: 'remember me', sessionKey: { channelId: 'kept' } });
    const before = await getProcesses(product);
    await using stop = await startProcess([process.execPath, STOP], { env: { SWITCHYARD_DATA: product.data } });
    assert.equal((await stop.exited).code, 0, stop.output());
    assert.match(stop.output(), /stopped the cluster/);
    assert.deepEqual(await product.process.exited, { code: 0, signal: null });
    assert.deepEqual(
      before.filter(({ pid }) => isAlive(pid)),
      [],
    );
    assert.equal(existsSync(`${product.data}/run.json`), false);

    const { token } = product;
    product = await startProduct('cluster', { data: data.path });
    assert.equal(product.token, token);
    assert.equal((await contents(product, 'kept'))[0], 'remember me');
  });

  test('the next launcher ends the processes of a killed launcher', async () => {
    const remainingItems = await getProcesses(product);
    await product.process.end('SIGKILL');
    assert.ok(
      remainingItems.filter(({ replica }) => replica !== 'cluster').every(({ pid }) => isAlive(pid)),
      'they are there without it',
    );
    product = await startProduct('cluster', { data: data.path });
    assert.match(product.process.output(), /stopping processes of an earlier start: .*sessions-1/);
    await gone(remainingItems);
    assert.ok(await call(product, 'session.list'));
  });

  test('make cluster-stop ends the processes of a killed launcher', async () => {
    const left = await getProcesses(product);
    await product.process.end('SIGKILL');
    await using stop = await startProcess([process.execPath, STOP], { env: { SWITCHYARD_DATA: product.data } });
    assert.equal((await stop.exited).code, 0);
    assert.deepEqual(
      left.filter(({ pid }) => isAlive(pid)),
      [],
    );
  });
});

test('an impossible start prints one sentence and leaves no process', { skip: SKIP, timeout: 120_000 }, async () => {
  const squatter = createServer().listen(0, '127.0.0.1');
  await once(squatter, 'listening');
  const { port } = squatter.address() as AddressInfo;
  try {
    for (const [env, said] of [
      [{ SWITCHYARD_BUS: 'nats://127.0.0.1:4222' }, /SWITCHYARD_BUS is set, but a cluster on one machine starts its own servers/],
      [{ SWITCHYARD_STORE_FILE: '/dev/null' }, /SWITCHYARD_STORE is set/],
      [{ SWITCHYARD_PORT: String(port) }, new RegExp(`port ${port} .* is in use\\..*SWITCHYARD_PORT=0 make cluster`)],
      [{ SWITCHYARD_HOST: '192.0.2.1' }, /192\.0\.2\.1 is not an address of this machine/],
      [{ SWITCHYARD_GATEWAY__PROT: '1' }, /SWITCHYARD_GATEWAY__PROT/],
      [{ OPENAI_BASE_URL: 'localhost:1' }, /OPENAI_BASE_URL/],
    ] as const) {
      await using dir = await tempDir();
      await using refused = await launch(dir.path, env, { profile: 'cluster' });
      assert.equal((await refused.exited).code, 1, refused.output());
      assert.match(refused.output(), said);
      assert.ok(!/\n\s+at /.test(refused.output()), 'a stack is not a sentence');
      assert.equal(existsSync(`${dir.path}/run.json`), false);
    }
  } finally {
    squatter.close();
  }
});

function isReplica({ service }: RunningProcess): boolean {
  return !SERVERS.includes(service) && service !== 'cluster';
}

function getName({ replica }: RunningProcess): string {
  return replica;
}
