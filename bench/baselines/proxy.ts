import { fastify } from 'fastify';
import { Pool } from 'undici';
import { completionPath, readRaw, relay, upstreamUrl } from './completions.ts';

// A proxy in one process: Fastify in front, undici behind, bytes forwarded. No keys, scopes, limits, validation, ids or logs.
const upstream = new Pool(upstreamUrl(), { connections: 256 });
const app = fastify({ logger: false, exposeHeadRoutes: false, forceCloseConnections: true });
readRaw(app);
app.post(completionPath, (request, reply) => {
  reply.hijack();
  relay(upstream, request.body as string, reply.raw);
});
console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: 0 })}`);
