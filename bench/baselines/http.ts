import { fastify, type FastifyReply } from 'fastify';

export interface Call {
  id: unknown;
  params?: unknown;
}

/** Serves `POST /rpc` with a minimal Fastify app and prints its URL. */
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

export const natsUrl = (): string => readVariable('NATS_URL');

/** Subject of the baseline's responder. */
export const subjectName = (): string => readVariable('SUBJECT');

function readVariable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}
