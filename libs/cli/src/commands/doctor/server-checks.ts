import type { Client, RpcError } from '@switchyard/client';
import type { ServicePresence } from '@switchyard/contracts';
import { connect, createNoTokenFailure, type Where } from '../../server/server-location.ts';
import { explain, isRpcError } from '../../server/rpc-failure.ts';
import { getDegradations, getFaults } from '../../server/server-faults.ts';
import type { Probe } from '../../server/probe.ts';
import type { ServerReadiness } from '../../server/readiness.ts';
import { isObject } from '../../output/json-values.ts';
import { quote, self } from '../../server/installation.ts';
import { bad, good, note, type Check } from './check.ts';
import { checkSettings } from './settings-check.ts';

/** Maximum clock skew. Leases and tokens expire by the clock. */
const MAX_SKEW_MS = 5_000;
const PATIENCE = { timeoutMs: 5_000 };

/** Returns whether a health response comes from a Switchyard server. */
export function isOurs(health: Probe): boolean {
  return health.answered && health.status === 200 && isObject(health.body) && health.body['status'] === 'ok';
}

export function checkHealth(health: Probe, { url, local }: Pick<Where, 'url' | 'local'>): Check {
  if (isOurs(health)) return good('server', `${url} answers`);
  if (health.answered) return bad('server', `the server at ${url} is not Switchyard (HTTP ${health.status})`, `${self()} start --port 0`);
  return bad('server', `no server answers at ${url} (${health.why})`, local ? `${self()} start` : `curl -v ${quote(`${url}/health`)}`);
}

/** Checks readiness and services: one check for everything that works, and one per fault. */
export function checkServices(readiness: ServerReadiness, where: Where): Check[] {
  const { answers, ready, services } = readiness;
  if (!answers) return [];
  const next = lookCloser(where);
  const faults = getFaults(readiness).map(({ about, detail }) => bad(about, detail, next));
  return [
    ...(ready ? [good('ready', 'ready')] : []),
    ...faults.filter(({ name }) => name === 'ready'),
    ...(services === undefined ? [note('services', 'unknown: requires a token with scope admin')] : listServices(services)),
    ...faults.filter(({ name }) => name !== 'ready'),
    ...getDegradations(readiness).map((detail) => note('degraded', detail, next)),
  ];
}

function listServices(services: readonly ServicePresence[]): Check[] {
  const names = (state: ServicePresence['state']) => services.filter((one) => one.state === state).map(({ service }) => service);
  const up = services.filter(({ state }) => state === 'up').map(({ service, replicas }) => `${service} ×${replicas.length}`);
  const [absent, unbuilt] = [names('absent'), names('unbuilt')];
  return [
    ...(up.length === 0 ? [] : [good('services', up.join(' '))]),
    ...(absent.length === 0 ? [] : [note('not installed', `${absent.join(' ')}: not in gateway.installedServices`)]),
    ...(unbuilt.length === 0 ? [] : [note('not built', `${unbuilt.join(' ')}: not implemented yet`)]),
  ];
}

/** Returns a command for details: the local log, or the status of a remote server. */
function lookCloser({ run, url }: Where): string {
  const log = run?.processes[0]?.log;
  return log === undefined ? `${self()} status --url ${quote(url)}` : `tail ${quote(log)}`;
}

/** Checks token, clock, provider and settings. They are unknown while the server is unreachable. */
export async function checkInside(where: Where, isAnswering: boolean): Promise<Check[]> {
  if (!isAnswering) return ['token', 'clock', 'provider', 'settings'].map((name) => note(name, 'unknown: no server answers'));
  if (where.token === undefined) {
    const { message, next } = createNoTokenFailure(where);
    return [bad('token', message, next), ...['clock', 'provider', 'settings'].map((name) => note(name, 'unknown: requires a token'))];
  }
  const client = await connect(where);
  try {
    return [...(await checkPing(client, where)), await checkProvider(client, where), await checkSettings(client, PATIENCE)];
  } finally {
    client.close();
  }
}

async function checkPing(client: Client, where: Where): Promise<[token: Check, clock: Check]> {
  const requestCount = Date.now();
  try {
    const { ts } = await client.call('system.ping', {}, PATIENCE);
    return [good('token', `accepted (${where.tokenFrom ?? 'none'})`), checkClock(ts, requestCount, Date.now())];
  } catch (error) {
    return [failed('token', error, where), note('clock', 'not compared')];
  }
}

/** Compares clocks. The server read its clock between request and response. */
export function checkClock(ts: number, sentAt: number, answeredCount: number): Check {
  const skew = Math.max(sentAt - ts, ts - answeredCount, 0);
  if (skew <= MAX_SKEW_MS) return good('clock', skew === 0 ? 'the same as the server' : `${skew} ms from the server`);
  return bad('clock', `${Math.round(skew / 1000)} s from the server; the clock of one machine is wrong`, 'timedatectl set-ntp true');
}

async function checkProvider(client: Client, where: Where): Promise<Check> {
  try {
    const { providers } = await client.call('models.list_providers', {}, PATIENCE);
    if (!providers.includes('dev')) return good('provider', 'a real provider is configured');
    return {
      ...good('provider', 'only the offline development models; set a provider key to use a real one'),
      next: `read -rs OPENAI_API_KEY && export OPENAI_API_KEY && ${self()} start`,
    };
  } catch (error) {
    if (isRpcError(error) && isRefusal(error)) return note('provider', 'unknown: the token lacks scope admin');
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
