// The minimal durable turn: Fastify and four sequential document writes, each flushed before the next.
import { collection, openStore } from '@switchyard/store';
import { z } from 'zod';
import { servePost } from '../baselines/http.ts';
import { echo } from './echo.ts';

const Turn = z.object({ id: z.string(), session: z.string(), message: z.string(), state: z.string(), answer: z.string().optional() });
const Session = z.object({ key: z.string(), queue: z.array(z.string()), turns: z.int() });

const store = await openStore(`sqlite:${process.env['DATA'] ?? ''}`, { service: 'bare' });
const opened = await store.open({
  turns: collection({ name: 'turns', schema: Turn, key: 'id' }),
  sessions: collection({ name: 'sessions', schema: Session, key: 'key' }),
});
const [turns, sessions] = [opened.turns.for({ tenant: 'default' }), opened.sessions.for({ tenant: 'default' })];
let requestCount = 0;

async function run(key: string, message: string): Promise<string> {
  const id = `turn-${process.pid}-${requestCount++}`;
  await turns.insert({ id, session: key, message, state: 'queued' });
  const entered = await sessions.update({ key }, { push: { queue: id } });
  if (!entered) await sessions.replace({ key, queue: [id], turns: 0 });
  const answer = echo(message);
  await turns.update({ id, state: 'queued' }, { set: { state: 'done', answer } });
  await sessions.update({ key }, { pull: { queue: id }, inc: { turns: 1 } });
  return answer;
}

await servePost(({ id, params }, reply) => {
  const { message, sessionKey } = params as { message: string; sessionKey: { channelId: string } };
  run(sessionKey.channelId, message).then(
    (response) => reply.send(JSON.stringify({ jsonrpc: '2.0', result: { response }, id })),
    (error: unknown) => reply.code(500).send(String(error)),
  );
});
