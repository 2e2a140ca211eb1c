import { servePost } from './http.ts';

// The minimal HTTP response with Fastify.
await servePost(({ id }, reply) => {
  reply.send(`{"jsonrpc":"2.0","result":{"pong":true,"ts":${Date.now()}},"id":${JSON.stringify(id)}}`);
});
