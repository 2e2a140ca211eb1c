import { fastify } from 'fastify';
import { completionPath, readRaw } from './completions.ts';
import { connectHop, createRequest } from './hop.ts';
import { subjectName } from './http.ts';

// The least that a gateway can do whose models are asked by a service behind NATS.
const ask = createRequest(await connectHop());
const subject = subjectName();
const app = fastify({ logger: false, exposeHeadRoutes: false, forceCloseConnections: true });
readRaw(app);
app.post(completionPath, (request, reply) => {
  reply.header('content-type', 'application/json');
  ask(subject, request.body as string, (bytes) => reply.send(Buffer.from(bytes)));
});
console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: 0 })}`);
