import { freePort } from './free-port.ts';
import { installOutside } from './install-outside.ts';
import { startNode, type Subject } from './subject.ts';

const START = '.tools/portkey/node_modules/@portkey-ai/gateway/build/start-server.js';
/** Newer releases of @hono/node-server pass immutable headers, and the streams of Portkey fail. */
const MANIFEST = { dependencies: { '@portkey-ai/gateway': '1.15.2' }, overrides: { '@hono/node-server': '1.13.8' } };

/** Starts `@portkey-ai/gateway` from npm with default settings. It is installed on first use. */
export async function startPortkey(upstream: string, stack: AsyncDisposableStack): Promise<Subject> {
  await installOutside('portkey', MANIFEST);
  const port = await freePort();
  const args = [`--port=${port}`, '--headless'];
  const edge = stack.use(await startNode(START, { env: { NODE_ENV: 'production' }, ready: /Ready for connections/, args }));
  const headers = { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstream}/v1`, authorization: 'Bearer none' };
  return { name: 'portkey', url: `http://127.0.0.1:${port}`, headers, edge, pids: [edge.pid] };
}
