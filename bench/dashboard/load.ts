import type { Running } from '../../tests/e2e/embedded.ts';
import { call } from '../../tests/e2e/exchange.ts';
import { forEach } from '../../tests/e2e/dashboard-data.ts';

/** Creates sessions with one turn each. */
export async function createSessions(product: Running, count: number): Promise<void> {
  await forEach(Array.from({ length: count }), (_, n) =>
    call(product, 'agent.execute', { message: 'hello', sessionKey: { channelId: `session-${n}` } }),
  );
}

/** Creates one session with so many messages and returns its key. */
export async function createMessages(product: Running, count: number): Promise<string> {
  let key = '';
  for (let n = 0; n < count / 2; n += 1) {
    const sessionKey = { channelId: 'long' };
    ({ sessionKey: key } = await call<{ sessionKey: string }>(product, 'agent.execute', { message: `question ${n}`, sessionKey }));
  }
  return key;
}
