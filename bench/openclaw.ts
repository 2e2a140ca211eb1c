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
/** The cheapest read of OpenClaw: it answers from memory. */
const READ = { type: 'req', id: '1', method: 'system-presence', params: {} };

/** Starts `openclaw` from npm with default settings, without authentication, on a new directory. It is installed on first use. */
export async function startOpenclaw(stack: AsyncDisposableStack): Promise<Subject> {
  await installOutside('openclaw', MANIFEST);
  const { path } = stack.use(await tempDir());
  const port = await freePort();
  const args = ['gateway', 'run', `--port=${port}`, '--bind=loopback', '--auth=none', '--allow-unconfigured'];
  // OpenClaw re-executes itself for its compile cache, and that process would outlive the one known here.
  const env = { HOME: path, OPENCLAW_STATE_DIR: path, NO_COLOR: '1', OPENCLAW_PACKAGED_COMPILE_CACHE_RESPAWNED: '1' };
  const edge = stack.use(await startNode(START, { env, ready: /\[gateway\] ready/, args }));
  const protocol = { path: '/', greeting: JSON.stringify(GREETING), body: JSON.stringify(READ), expect: 'ok' } as const;
  return { name: 'openclaw', url: `http://127.0.0.1:${port}`, headers: {}, edge, pids: [edge.pid], protocol };
}
