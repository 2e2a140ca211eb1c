import type { CallResult } from '@switchyard/client';
import { EXIT, type Command, type Invocation } from '../command.ts';
import { connect, type Where } from '../context.ts';
import { explain, isRpcError } from '../explain.ts';
import { Failure } from '../failure.ts';
import { commandHelp } from '../command-help.ts';
import { print, printJson, rows } from '../output.ts';
import { probe, type Probe } from '../probe.ts';
import { isAlive, isObject, type RunningProcess } from '../run-file.ts';
import { self } from '../self.ts';

interface Dependency {
  ready: boolean;
  reason?: string;
}

interface Status {
  url: string;
  answers: boolean;
  ready: boolean;
  /** What the server calls its state; why it does not answer, if it does not. */
  state: string;
  dependencies: Record<string, Dependency>;
  processes: (RunningProcess & { alive: boolean })[];
  agents?: readonly string[];
  providers?: readonly string[];
  registry?: CallResult<'gateway.status'>;
  /** Why agents, providers or the registry are not known. */
  unknown?: string;
}

export const status: Command = {
  flags: [],
  help: () =>
    commandHelp('status', 'Says what runs, what it depends on, and who answers. Exit code 0 means that the server is ready.', {
      examples: ['status', 'status -o json'],
    }),
  async run({ output, where }: Invocation) {
    const place = where();
    const found = await look(place);
    if (output === 'json') printJson(found);
    else if (found.answers || found.processes.length > 0) print(rows(describe(found)));
    if (!found.ready) throw notReady(found, place);
    return EXIT.done;
  },
};

async function look(place: Where): Promise<Status> {
  const readiness = await probe(place.url, 'readyz');
  const processes = (place.run?.processes ?? []).map((process) => ({ ...process, alive: isAlive(process.pid) }));
  const found: Status = { url: place.url, answers: readiness.answered, ...readReadiness(readiness), processes };
  return readiness.answered ? { ...found, ...(await lookInside(place)) } : found;
}

function readReadiness(readiness: Probe): Pick<Status, 'ready' | 'state' | 'dependencies'> {
  if (!readiness.answered) return { ready: false, state: readiness.why, dependencies: {} };
  const { status: code, body } = readiness;
  const { status: state, dependencies } = isObject(body) ? body : {};
  return {
    ready: code === 200,
    state: typeof state === 'string' ? state : `HTTP ${code}`,
    dependencies: isObject(dependencies) ? Object.fromEntries(Object.entries(dependencies).flatMap(readDependency)) : {},
  };
}

function readDependency([name, value]: [string, unknown]): [string, Dependency][] {
  if (!isObject(value)) return [];
  const { ready, reason } = value;
  return [[name, { ready: ready === true, ...(typeof reason === 'string' ? { reason } : {}) }]];
}

/** What only a token with scope admin may know. Without one the rest is still worth saying. */
async function lookInside(place: Where): Promise<Pick<Status, 'agents' | 'providers' | 'registry' | 'unknown'>> {
  if (place.token === undefined) return { unknown: 'there is no token to ask with' };
  const client = await connect(place);
  const calls = [
    { method: 'agents.list', params: {} },
    { method: 'models.list_providers', params: {} },
    { method: 'gateway.status', params: {} },
  ] as const;
  try {
    const [agents, providers, registry] = await client.batch(calls, { timeoutMs: 5_000 });
    const failed = [agents, providers, registry].find((answer) => !answer.ok);
    return {
      ...(agents.ok ? { agents: agents.result.agents } : {}),
      ...(providers.ok ? { providers: providers.result.providers } : {}),
      ...(registry.ok ? { registry: registry.result } : {}),
      ...(failed && !failed.ok ? { unknown: explain(failed.error, place).message } : {}),
    };
  } catch (error) {
    if (!isRpcError(error)) throw error;
    return { unknown: explain(error, place).message };
  } finally {
    client.close();
  }
}

function describe(found: Status): [string, string][] {
  const { registry } = found;
  return [
    ['server', `${found.url}  ${found.ready ? 'ready' : found.state}`],
    ...found.processes.map(describeProcess),
    ...Object.entries(found.dependencies).map(([name, { ready, reason }]): [string, string] => [
      name,
      ready ? 'ready' : (reason ?? 'not ready'),
    ]),
    ...(found.agents ? [['agents', found.agents.join(' ')] as [string, string]] : []),
    ...(found.providers ? [['providers', describeProviders(found.providers)] as [string, string]] : []),
    ...(registry
      ? [
          [
            'up',
            `${duration(registry.uptime)}, ${Math.round(registry.memoryUsage / 1e6)} MB, Node ${registry.nodeVersion} (the registry’s process)`,
          ] as [string, string],
        ]
      : []),
    ...(found.unknown === undefined ? [] : [['not known', found.unknown] as [string, string]]),
  ];
}

function describeProcess({ service, replica, pid, alive, ports, log }: Status['processes'][number]): [string, string] {
  const listening = Object.entries(ports).map(([name, port]) => `${name} ${port}`);
  return ['process', [`${service} ${replica}`, `pid ${pid} ${alive ? 'alive' : 'gone'}`, ...listening, log].join('  ')];
}

/** `dev` is listed while it answers; the others may wait for a key. */
function describeProviders(providers: readonly string[]): string {
  const others = providers.filter((provider) => provider !== 'dev').join(' ');
  const answering = providers.includes('dev') ? 'dev answers, offline' : 'a real one answers';
  return others === '' ? answering : `${answering}; known: ${others}`;
}

function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

function notReady({ url, answers, state, processes }: Status, { local }: Where): Failure {
  if (answers) return new Failure(`The server at ${url} is not ready (${state}).`, `${self()} doctor`);
  const alive = processes.find((process) => process.alive);
  if (alive) return new Failure(`Process ${alive.pid} is there, but ${url} does not answer (${state}).`, `tail ${alive.log}`);
  const sentence = local ? `Nothing runs at ${url}.` : `Nothing answers at ${url} (${state}).`;
  return new Failure(sentence, local ? `${self()} start` : `${self()} doctor --url ${url}`);
}
