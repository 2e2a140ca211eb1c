import type { ServicePresence } from '@switchyard/contracts';
import type { Where } from './server-location.ts';
import { probe, type Probe } from './probe.ts';
import { isObject } from '../output/json-values.ts';

interface Dependency {
  ready: boolean;
  reason?: string;
}

/** The readiness of the server. The server may be older or newer than the CLI, so every field may be absent. */
export interface ServerReadiness {
  answers: boolean;
  ready: boolean;
  /** The state reported by the server, or the reason why it is unreachable. */
  state: string;
  dependencies: Record<string, Dependency>;
  /** All expected services. Only reported to tokens with scope admin. */
  services?: ServicePresence[];
}

export async function askReadiness(
  { url, token }: Pick<Where, 'url' | 'token'>,
  { endpoints = false }: { endpoints?: boolean } = {},
): Promise<ServerReadiness> {
  return readReadiness(await probe(url, endpoints ? 'readyz?endpoints' : 'readyz', token));
}

function readReadiness(readiness: Probe): ServerReadiness {
  if (!readiness.answered) return { answers: false, ready: false, state: readiness.why, dependencies: {} };
  const { status: code, body } = readiness;
  const { status: state, dependencies, services } = isObject(body) ? body : {};
  return {
    answers: true,
    ready: code === 200,
    state: typeof state === 'string' ? state : `HTTP ${code}`,
    dependencies: isObject(dependencies) ? Object.fromEntries(Object.entries(dependencies).flatMap(readDependency)) : {},
    ...(Array.isArray(services) ? { services: services.filter(isPresence) } : {}),
  };
}

function readDependency([name, value]: [string, unknown]): [string, Dependency][] {
  if (!isObject(value)) return [];
  const { ready, reason } = value;
  return [[name, { ready: ready === true, ...(typeof reason === 'string' ? { reason } : {}) }]];
}

function isPresence(value: unknown): value is ServicePresence {
  if (!isObject(value)) return false;
  const { service, state, replicas } = value;
  return typeof service === 'string' && typeof state === 'string' && Array.isArray(replicas) && replicas.every(isReplica);
}

function isReplica(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { replica, version, startedAt, pid, host, readiness, endpoints } = value;
  if (readiness !== undefined && !isReadiness(readiness)) return false;
  if (endpoints !== undefined && !(Array.isArray(endpoints) && endpoints.every(isEndpoint))) return false;
  return [replica, version, host].every((text) => typeof text === 'string') && [startedAt, pid].every((count) => typeof count === 'number');
}

function isReadiness(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { ready, status, dependencies } = value;
  return typeof ready === 'boolean' && typeof status === 'string' && isObject(dependencies) && Object.values(dependencies).every(isObject);
}

function isEndpoint(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { method, requests, errors, averageMs, lastError } = value;
  return (
    [method, lastError].every((text) => typeof text === 'string') &&
    [requests, errors, averageMs].every((count) => typeof count === 'number')
  );
}
