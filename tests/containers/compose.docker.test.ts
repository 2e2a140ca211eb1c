import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createClient, RpcError, type Client } from '@switchyard/client';
import { listBuiltServices } from '@switchyard/contracts';
import { freePort } from '@switchyard/testkit';

/** Includes the time to build all images. */
const PATIENCE_MS = 1_500_000;
const PROJECT = 'switchyard-test';
const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
const built = listBuiltServices();
const idempotent = { idempotent: true, timeoutMs: 60_000 };
const CHANNEL = 'kept';

describe('docker compose up', { timeout: PATIENCE_MS }, () => {
  let env: NodeJS.ProcessEnv;
  let client: Client;
  before(async () => {
    env = { ...process.env, COMPOSE_PROJECT_NAME: PROJECT, SWITCHYARD_PORT: String(await freePort()) };
    await compose('down', '--volumes');
    await compose('up', '--build', '--detach', '--wait');
    const token = await compose('exec', '-T', 'secrets', 'cat', '/run/keys/token');
    client = createClient({ url: `http://127.0.0.1:${env['SWITCHYARD_PORT']}`, token });
  });
  after(() => compose('down', '--volumes'));

  async function compose(...args: string[]): Promise<string> {
    return (await run('docker', ['compose', ...args], { cwd: root, env, maxBuffer: 2 ** 26 })).stdout;
  }
  async function sendRequest(message: string): Promise<string> {
    return (
      await client.call('agent.execute', { message, sessionKey: { channelId: CHANNEL } }, { idempotencyKey: message, timeoutMs: 60_000 })
    ).response;
  }

  test('every service has two containers with a read-only root and an unprivileged user', async () => {
    for (const service of built)
      for (const index of ['1', '2']) {
        const inside = await compose(
          'exec',
          '-T',
          '--index',
          index,
          service,
          'sh',
          '-c',
          'id -u; cat /proc/1/comm; touch /app/x 2>&1 || true',
        );
        assert.match(inside, /^1000\ntini\n.*Read-only file system\n$/, `${service} ${index}`);
      }
  });

  test('answers survive the loss of one container of each service', async () => {
    assert.match(await sendRequest('first'), /first/);
    for (const service of built) await run('docker', ['kill', `${PROJECT}-${service}-1`]);
    assert.match(await sendRequest('second'), /second/);
    await compose('up', '--detach', '--wait');
  });

  test('a gateway reports the loss of NATS, and the cluster recovers when it returns', async () => {
    await run('docker', ['kill', `${PROJECT}-nats-1`]);
    const unavailable = (error: unknown): boolean =>
      error instanceof RpcError && error.data.code === 'UNAVAILABLE' && error.data.reason !== 'CONNECTION_LOST';
    for (let n = 0; n < 5; n += 1) await assert.rejects(client.call('session.list', {}), unavailable);
    await run('docker', ['start', `${PROJECT}-nats-1`]);
    await compose('up', '--detach', '--wait');
    assert.match(await sendRequest('third'), /third/);
  });

  test('no container has an anonymous volume', async () => {
    const ids = (await compose('ps', '--all', '--quiet')).split('\n').filter(Boolean);
    const { stdout } = await run('docker', [
      'inspect',
      '--format',
      '{{range .Mounts}}{{if eq .Type "volume"}}{{println .Name}}{{end}}{{end}}',
      ...ids,
    ]);
    const names = new Set(stdout.split('\n').filter(Boolean));
    assert.deepEqual(
      [...names].toSorted(),
      ['keys', 'mongo', 'nats'].map((name) => `${PROJECT}_${name}`),
    );
  });

  test('conversations survive a restart of all containers', async () => {
    await compose('down');
    await compose('up', '--detach', '--wait');
    const { messages } = await client.call('session.history', { channelId: CHANNEL }, idempotent);
    const requests = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
    assert.deepEqual(requests, ['first', 'second', 'third']);
  });

  test('down --volumes removes everything', async () => {
    await compose('down', '--volumes');
    const kinds = [
      ['ps', '--all'],
      ['volume', 'ls'],
      ['network', 'ls'],
    ];
    for (const kind of kinds) {
      const { stdout } = await run('docker', [...kind, '--quiet', '--filter', `label=com.docker.compose.project=${PROJECT}`]);
      assert.equal(stdout, '', kind.join(' '));
    }
  });
});
