import { join } from 'node:path';
import { startProcess, type StartedProcess } from '@switchyard/testkit';
import type { LoadPlan } from './load-plan.ts';

/** What can be measured: ours over both transports, and the baselines. */
export type SubjectName = 'nats' | 'embedded' | 'bare' | 'naive' | 'floor' | 'bare-ws' | 'floor-ws' | 'send-loop';

/** Something that answers, and the processes it takes to do so. */
export interface Subject {
  name: SubjectName;
  url: string;
  headers: Record<string, string>;
  edge: StartedProcess;
  /** All of them, the edge and the broker included. */
  pids: number[];
}

export const root = join(import.meta.dirname, '..');
const LISTENING = /listening on (http:\S+)/;

/** A method as it is sent, to ours and to the baselines alike. */
export function callOf(method: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} });
}

export type Target = Pick<LoadPlan, 'kind' | 'url' | 'path' | 'headers' | 'expectResult'>;

/** The route of a subject. A baseline has only one. */
export function targetOf({ name, url, headers }: Subject, kind: LoadPlan['kind']): Target {
  const isOurs = name === 'nats' || name === 'embedded';
  return { kind, url, headers, path: kind === 'http' ? '/rpc' : isOurs ? '/ws' : '/', expectResult: name !== 'bare-ws' };
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
};

export async function startBaseline(name: SubjectName, broker: Broker, stack: AsyncDisposableStack): Promise<Subject> {
  const env = { NATS_URL: broker.url, SUBJECT: `bench.${name}` }; // each has a responder of its own
  const responder = RESPONDERS[name];
  const pids: number[] = [];
  if (responder !== undefined) {
    pids.push(broker.pid, stack.use(await startNode(`bench/baselines/${responder}.ts`, { env, ready: /answering/ })).pid);
  }
  const edge = stack.use(await startNode(`bench/baselines/${name}.ts`, { env, ready: LISTENING }));
  return { name, url: edge.ready[1] ?? '', headers: {}, edge, pids: [...pids, edge.pid] };
}
