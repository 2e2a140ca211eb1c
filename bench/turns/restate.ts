import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startProcess, tempDir } from '@switchyard/testkit';
import { freePort } from '../free-port.ts';
import { installOutside } from '../install-outside.ts';
import { startNode, type Subject } from '../subject.ts';

const READY_MS = 30_000;
const MANIFEST = { dependencies: { '@restatedev/restate-sdk': '1.17.2', '@restatedev/restate-server': '1.7.12' } };
const BINARY = 'node_modules/@restatedev/restate-server-linux-x64/bin/restate-server';

/**
 * Starts Restate from npm, a durable execution engine, with a service in a separate process. Sessions are virtual objects. Restate
 * flushes each accepted request to disk.
 */
export async function startRestate(stack: AsyncDisposableStack): Promise<Subject> {
  const directory = await installOutside('restate', MANIFEST);
  const data = stack.use(await tempDir()).path;
  const [ingress, admin, node] = [await freePort(), await freePort(), await freePort()];
  const service = stack.use(await startNode('bench/turns/restate-service.ts', { env: {}, ready: /listening on (http:\S+)/ }));
  const edge = stack.use(
    await startProcess([join(directory, BINARY), '--no-logo', '--listen-mode', 'tcp'], {
      cwd: data,
      ready: /Admin API starting/,
      env: {
        RESTATE_BASE_DIR: data,
        RESTATE_DISABLE_TELEMETRY: 'true',
        RESTATE_LOG_FILTER: 'warn,restate_admin=info',
        RESTATE_LOG_DISABLE_ANSI_CODES: 'true',
        RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
        RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
        RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      },
    }),
  );
  await register(`http://127.0.0.1:${admin}`, service.ready[1] ?? '');
  return { name: 'restate', url: `http://127.0.0.1:${ingress}`, headers: {}, edge, pids: [edge.pid, service.pid] };
}

/** Registers the service. The admin API accepts calls shortly after the server reports that it is ready. */
async function register(admin: string, uri: string): Promise<void> {
  const deadline = Date.now() + READY_MS;
  for (;;) {
    try {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ uri }) };
      const response = await fetch(`${admin}/deployments`, init);
      if (response.ok) return;
      throw new Error(await response.text());
    } catch (cause) {
      if (Date.now() > deadline) throw new Error('restate does not know its service', { cause });
    }
    await delay(100);
  }
}
