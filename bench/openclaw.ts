import { tempDir } from '@switchyard/testkit';
import { freePort } from './free-port.ts';
import { installOutside } from './install-outside.ts';
import { startNode, type Subject } from './subject.ts';

const START = '.tools/openclaw/node_modules/openclaw/openclaw.mjs';
const MANIFEST = { dependencies: { openclaw: '2026.9.6' } };
const PROTOCOL = 4;

const GREETING = {
  type: 'req',
  id: '0',
  method: 'connect',
  params: {
    minProtocol: PROTOCOL,
    maxProtocol: PROTOCOL,
    client: { id: 'gateway-client', version: '1.0.0', platform: 'linux', mode: 'backend' },
    role: 'operator',
    scopes: ['operator.read'],
  },
};
/** Its cheapest read: what it says is in its memory, and nobody is asked. */
const READ = { type: 'req', id: '1', method: 'system-presence', params: {} };

/** `openclaw` as npm has it, on a new directory and with nothing configured; installed when it is first measured. It asks nobody who he is. */
export async function startOpenclaw(stack: AsyncDisposableStack): Promise<Subject> {
  await installOutside('openclaw', MANIFEST);
  const { path } = stack.use(await tempDir());
  const port = await freePort();
  const args = ['gateway', 'run', `--port=${port}`, '--bind=loopback', '--auth=none', '--allow-unconfigured'];
  // Started anew by itself, for a cache of its own, it would outlive the process that is known here.
  const env = { HOME: path, OPENCLAW_STATE_DIR: path, NO_COLOR: '1', OPENCLAW_PACKAGED_COMPILE_CACHE_RESPAWNED: '1' };
  const edge = stack.use(await startNode(START, { env, ready: /\[gateway\] ready/, args }));
  const speaks = { path: '/', greeting: JSON.stringify(GREETING), body: JSON.stringify(READ), expect: 'ok' } as const;
  return { name: 'openclaw', url: `http://127.0.0.1:${port}`, headers: {}, edge, pids: [edge.pid], speaks };
}
