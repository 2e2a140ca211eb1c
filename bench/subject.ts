import { join } from 'node:path';
import { startProcess, type StartedProcess } from '@switchyard/testkit';
import type { LoadPlan } from './load-plan.ts';
import type { Case } from './rows.ts';
import type { SubjectName } from './subject-name.ts';

/** Something that answers, and the processes it takes to do so. */
export interface Subject {
  name: SubjectName;
  url: string;
  headers: Record<string, string>;
  edge: StartedProcess;
  /** All of them, the edge and the broker included. */
  pids: number[];
  /** Where it speaks otherwise than ours. */
  speaks?: Partial<Route>;
}

export const root = join(import.meta.dirname, '..');
const LISTENING = /listening on (http:\S+)/;

export type Route = Pick<LoadPlan, 'kind' | 'url' | 'path' | 'headers' | 'body' | 'expect' | 'greeting'>;

/** What is asked of a subject, and where. A baseline has only one route. */
export function routeOf({ name, url, headers, speaks }: Subject, { kind, body, expect, completion }: Case): Route {
  const isOurs = name === 'nats' || name === 'embedded';
  const path = completion ? '/v1/chat/completions' : kind === 'http' ? '/rpc' : isOurs ? '/ws' : '/';
  return { kind, url, path, headers, body, expect: name === 'bare-ws' ? 'anything' : expect, ...speaks };
}

/** As `bin/switchyard` has it: what was compiled once is not compiled again. */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node') };

/** A process of this Node with nothing of our environment. */
export function startNode(script: string, { flags = [], args = [], env, ...rest }: NodeOptions): Promise<StartedProcess> {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', ...flags, join(root, script), ...args];
  return startProcess(command, { ...rest, env: { ...COMPILE_CACHE, ...env } });
}

interface NodeOptions {
  env: Record<string, string>;
  ready?: RegExp;
  /** Of Node itself. */
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

/** What baselines stand on. */
export interface Ground {
  broker: Broker;
  /** Where the models are; absent while nothing asks one. */
  upstream?: Subject | undefined;
}

/** The models that all completions end at. Its work is nobody's, so its process is not counted with anybody's. */
export async function startUpstream(stack: AsyncDisposableStack): Promise<Subject> {
  const edge = stack.use(await startNode('bench/baselines/upstream.ts', { env: {}, ready: LISTENING }));
  return { name: 'upstream', url: edge.ready[1] ?? '', headers: {}, edge, pids: [edge.pid] };
}

export async function startBaseline(name: SubjectName, { broker, upstream }: Ground, stack: AsyncDisposableStack): Promise<Subject> {
  const env = { NATS_URL: broker.url, SUBJECT: `bench.${name}`, UPSTREAM_URL: upstream?.url ?? '' }; // each has a responder of its own
  const responder = RESPONDERS[name];
  const pids: number[] = [];
  if (responder !== undefined) {
    pids.push(broker.pid, stack.use(await startNode(`bench/baselines/${responder}.ts`, { env, ready: /answering/ })).pid);
  }
  const edge = stack.use(await startNode(`bench/baselines/${name}.ts`, { env, ready: LISTENING }));
  return { name, url: edge.ready[1] ?? '', headers: {}, edge, pids: [...pids, edge.pid] };
}
