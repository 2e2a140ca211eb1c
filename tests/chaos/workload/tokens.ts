import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, RpcError } from '@switchyard/client';
import { dice } from '@switchyard/testkit';
import type { RequestParams } from '../history.ts';
import { attempt, type Outcome } from './outcome.ts';
import type { Talking } from './talker.ts';

const ATTEMPT_MS = 5_000;
const AGAIN_MS = 100;

export interface Churning extends Talking {
  seed: number;
  name: string;
  url: string;
}

/** Repeats the life of a token: create, use, rotate, use both secrets, revoke, use. */
export async function churn({ seed, name, url, doors, history, signal, over }: Churning): Promise<void> {
  const random = dice(seed);

  function change(f: 'mint' | 'rotate' | 'revoke', token: string, work: () => Promise<object>): Promise<Outcome<typeof f> | undefined> {
    return attempt(history.begin(name, f, { token }), work);
  }

  async function use(secret: string, request: RequestParams['use']): Promise<void> {
    const client = createClient({ url, token: secret, timeoutMs: ATTEMPT_MS });
    await attempt(history.begin(name, 'use', request), async () => {
      if (request.within) await client.call('session.status');
      else await client.call('tokens.list');
      return {};
    });
    client.close();
  }

  async function useOften(secret: string, asked: Omit<RequestParams['use'], 'within'>): Promise<void> {
    for (let remaining = 1 + random.below(3); remaining > 0; remaining -= 1) {
      await use(secret, { ...asked, within: random.chance(0.8) });
      await sleep(random.below(AGAIN_MS));
    }
  }

  async function live(token: string): Promise<void> {
    const secrets: string[] = [];
    const keep = async (given: Promise<{ secret: string }>): Promise<object> => {
      secrets.push((await given).secret);
      return {};
    };
    if (!(await change('mint', token, () => keep(doors.call('tokens.create', { id: token, scopes: ['rpc'] }))))?.response) return;
    await useOften(secrets[0] ?? '', { token, rotations: 0 });
    if (random.chance(0.7) && (await change('rotate', token, () => keep(doors.call('tokens.rotate', { id: token }))))?.response) {
      await useOften(secrets[1] ?? '', { token, rotations: 1 });
      await useOften(secrets[0] ?? '', { token, rotations: 0 });
    }
    while (!over.aborted) {
      const revoked = await change('revoke', token, () => revoke(token));
      if (revoked) break;
      await sleep(AGAIN_MS);
    }
    for (const [rotations, secret] of secrets.entries()) await useOften(secret, { token, rotations });
  }

  /** A retry may return NOT_FOUND: the token is revoked. */
  async function revoke(token: string): Promise<object> {
    try {
      return await doors.call('tokens.revoke', { id: token });
    } catch (error) {
      if (error instanceof RpcError && error.data.code === 'NOT_FOUND') return {};
      throw error;
    }
  }

  for (let n = 0; !signal.aborted; n += 1) {
    await live(`${name}-${n}`);
    await sleep(AGAIN_MS + random.below(1_000));
  }
}
