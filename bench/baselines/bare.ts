import { servePost } from './http.ts';

// As little as an HTTP answer can be.
await servePost(({ id }, reply) => {
  reply.send(`{"jsonrpc":"2.0","result":{"pong":true,"ts":${Date.now()}},"id":${JSON.stringify(id)}}`);
});
