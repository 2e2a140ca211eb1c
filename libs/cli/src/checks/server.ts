import type { Client, RpcError } from '@switchyard/client';
import { connect, noToken, type Where } from '../context.ts';
import { explain, isRpcError } from '../explain.ts';
import type { Probe } from '../probe.ts';
import { isObject } from '../run-file.ts';
import { self } from '../self.ts';
import { bad, good, note, type Check } from './check.ts';

/** Leases and tokens expire by the clock. */
const MOST_SKEW_MS = 5_000;
const PATIENCE = { timeoutMs: 5_000 };

/** Whether that is one of our servers, by the body of its health. */
export function isOurs(health: Probe): boolean {
  return health.answered && health.status === 200 && isObject(health.body) && health.body['status'] === 'ok';
}

export function checkHealth(health: Probe, { url, local }: Pick<Where, 'url' | 'local'>): Check {
  if (isOurs(health)) return good('server', `${url} answers`);
  if (health.answered) return bad('server', `what answers at ${url} is something else (HTTP ${health.status})`, `${self()} start --port 0`);
  return bad('server', `nothing answers at ${url} (${health.why})`, local ? `${self()} start` : `curl -v ${url}/health`);
}

/** The token, the clock and the provider, as far as a server answers that can be asked. */
export async function checkInside(where: Where, answering: boolean): Promise<Check[]> {
  if (!answering) return ['token', 'clock', 'provider'].map((name) => note(name, 'not known while no server answers'));
  if (where.token === undefined) {
    const { message, next } = noToken(where);
    return [bad('token', message, next), ...['clock', 'provider'].map((name) => note(name, 'not known without a token'))];
  }
  const client = await connect(where);
  try {
    return [...(await checkPing(client, where)), await checkProvider(client, where)];
  } finally {
    client.close();
  }
}

async function checkPing(client: Client, where: Where): Promise<[token: Check, clock: Check]> {
  const asked = Date.now();
  try {
    const { ts } = await client.call('system.ping', {}, PATIENCE);
    return [good('token', `accepted (${where.tokenFrom ?? 'none'})`), checkClock(ts, asked, Date.now())];
  } catch (error) {
    return [failed('token', error, where), note('clock', 'not compared')];
  }
}

/** The server read its clock somewhere between asking and answering. */
export function checkClock(ts: number, asked: number, answered: number): Check {
  const skew = Math.max(asked - ts, ts - answered, 0);
  if (skew <= MOST_SKEW_MS) return good('clock', skew === 0 ? 'the same as the server' : `${skew} ms from the server`);
  return bad('clock', `${Math.round(skew / 1000)} s from the server`, 'timedatectl set-ntp true   # on both machines');
}

async function checkProvider(client: Client, where: Where): Promise<Check> {
  try {
    const { providers } = await client.call('models.list_providers', {}, PATIENCE);
    if (!providers.includes('dev')) return good('provider', 'a real one answers');
    return { ...good('provider', 'the development models answer, offline'), next: `OPENAI_API_KEY=… ${self()} start   # for a real one` };
  } catch (error) {
    if (isRpcError(error) && isRefusal(error)) return note('provider', 'not known: the token lacks scope admin');
    return failed('provider', error, where);
  }
}

function isRefusal(error: RpcError): boolean {
  return error.data.code === 'PERMISSION_DENIED' || error.data.code === 'UNAUTHENTICATED' || error.data.reason === 'FORBIDDEN';
}

function failed(name: string, error: unknown, where: Where): Check {
  if (!isRpcError(error)) throw error;
  const { message, next } = explain(error, where, `${self()} status`);
  return bad(name, message, next);
}
