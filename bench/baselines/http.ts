import { fastify, type FastifyReply } from 'fastify';

export interface Call {
  id: unknown;
  params?: unknown;
}

/** `POST /rpc` with the least that Fastify can do; says where it listens on standard output. */
export async function servePost(answer: (call: Call, reply: FastifyReply) => void): Promise<void> {
  const app = fastify({ logger: false, exposeHeadRoutes: false, forceCloseConnections: true });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, JSON.parse(body as string));
    } catch (error) {
      done(error as Error);
    }
  });
  app.post('/rpc', (request, reply) => {
    reply.header('content-type', 'application/json; charset=utf-8');
    answer(request.body as Call, reply);
  });
  console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT'] ?? 0) })}`);
}

export const natsUrl = (): string => given('NATS_URL');

/** Where the baseline's own responder listens. */
export const subjectName = (): string => given('SUBJECT');

function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}
