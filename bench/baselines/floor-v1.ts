import { fastify } from 'fastify';
import { completionPath, isStreamed, readRaw } from './completions.ts';
import { connectHop, createFollow, createRequest } from './hop.ts';
import { subjectName } from './http.ts';

// The minimal gateway whose models are called by a service behind NATS.
const connection = await connectHop();
const sendRequest = createRequest(connection);
const follow = createFollow(connection);
const subject = subjectName();
const app = fastify({ logger: false, exposeHeadRoutes: false, forceCloseConnections: true });
readRaw(app);
app.post(completionPath, (request, reply) => {
  if (isStreamed(request.body as string)) {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
    follow(subject, request.body as string, (bytes) => void (bytes.length === 0 ? reply.raw.end() : reply.raw.write(bytes)));
    return;
  }
  reply.header('content-type', 'application/json');
  sendRequest(subject, request.body as string, (bytes) => reply.send(Buffer.from(bytes)));
});
console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: 0 })}`);
