import { join } from 'node:path';
import { startProcess, type StartedProcess } from '@switchyard/testkit';
import type { LoadPlan } from './load-plan.ts';
import type { Case } from './rows.ts';
import type { SubjectName } from './subject-name.ts';

/** A running server and its processes. */
export interface Subject {
  name: SubjectName;
  url: string;
  headers: Record<string, string>;
  edge: StartedProcess;
  /** Pids of all processes, including the gateway and the broker. */
  pids: number[];
  /** Overrides for a protocol that differs from ours. */
  protocol?: Partial<Route>;
}

export const root = join(import.meta.dirname, '..');
const LISTENING = /listening on (http:\S+)/;

export type Route = Pick<LoadPlan, 'kind' | 'url' | 'path' | 'headers' | 'body' | 'expect' | 'greeting'>;

/** The request and URL for a subject. A baseline has a single route. */
export function buildRoute({ name, url, headers, protocol }: Subject, { kind, body, expect, completion }: Case): Route {
  const isOurs = name === 'nats' || name === 'embedded';
  const path = completion ? '/v1/chat/completions' : kind === 'http' ? '/rpc' : isOurs ? '/ws' : '/';
  return { kind, url, path, headers, body, expect: name === 'bare-ws' ? 'anything' : expect, ...protocol };
}

/** The same compile cache as `bin/switchyard`. */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node') };

/** Starts a Node process without the inherited environment. */
export function startNode(script: string, { flags = [], args = [], env, ...rest }: NodeOptions): Promise<StartedProcess> {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', ...flags, join(root, script), ...args];
  return startProcess(command, { ...rest, env: { ...COMPILE_CACHE, ...env } });
}

interface NodeOptions {
  env: Record<string, string>;
  ready?: RegExp;
  /** Flags of Node. */
  flags?: readonly string[];
  args?: readonly string[];
}

interface Broker {
  url: string;
  pid: number;
}

const RESPONDERS: Partial<Record<SubjectName, string>> = {
  naive: 'naive-responder',
  floor: 'floor-responder',
  'floor-ws': 'floor-responder',
  'floor-v1': 'floor-v1-responder',
};

/** Servers that the baselines use. */
export interface BaselineServers {
  broker: Broker;
  /** The model upstream, if a case needs it. */
  upstream?: Subject | undefined;
}

/** Starts the model upstream of all completions. Its CPU time is not counted for any subject. */
export async function startUpstream(stack: AsyncDisposableStack): Promise<Subject> {
  const edge = stack.use(await startNode('bench/baselines/upstream.ts', { env: {}, ready: LISTENING }));
  return { name: 'upstream', url: edge.ready[1] ?? '', headers: {}, edge, pids: [edge.pid] };
}

export async function startBaseline(
  name: SubjectName,
  { broker, upstream }: BaselineServers,
  stack: AsyncDisposableStack,
): Promise<Subject> {
  const env = { NATS_URL: broker.url, SUBJECT: `bench.${name}`, UPSTREAM_URL: upstream?.url ?? '' }; // Each baseline has its own responder.
  const responder = RESPONDERS[name];
  const pids: number[] = [];
  if (responder !== undefined) {
    pids.push(broker.pid, stack.use(await startNode(`bench/baselines/${responder}.ts`, { env, ready: /answering/ })).pid);
  }
  const edge = stack.use(await startNode(`bench/baselines/${name}.ts`, { env, ready: LISTENING }));
  return { name, url: edge.ready[1] ?? '', headers: {}, edge, pids: [...pids, edge.pid] };
}
