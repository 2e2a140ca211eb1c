import type { CallResult } from '@switchyard/client';
import type { RunningProcess, ServicePresence } from '@switchyard/contracts';
import { EXIT, type Command, type Invocation } from '../arguments/command.ts';
import { connect, createNoTokenFailure, type Where } from '../server/server-location.ts';
import { isRpcError, sentenceFor } from '../server/rpc-failure.ts';
import { Failure } from '../output/failure.ts';
import { commandHelp } from '../arguments/command-help.ts';
import { getFaults, missing } from '../server/server-faults.ts';
import { print, printAs, rows } from '../output/output.ts';
import { askReadiness, type ServerReadiness } from '../server/readiness.ts';
import { isAlive } from '../server/run-file.ts';
import { quote, self } from '../server/installation.ts';

interface Status extends ServerReadiness {
  url: string;
  processes: (RunningProcess & { alive: boolean })[];
  agents?: readonly string[];
  providers?: readonly string[];
  registry?: CallResult<'gateway.status'>;
  /** Why services, agents, providers or the registry are unknown. */
  unknown?: string;
}

export const status: Command = {
  flags: [],
  help: () =>
    commandHelp(
      'status',
      'Shows the server, its dependencies and its services. Exit code 0 means that the server is ready and every service answers.',
      {
        examples: ['status', 'status -o json'],
      },
    ),
  async run({ output, where }: Invocation) {
    const place = where();
    const found = await look(place);
    if (output !== 'table') printAs(output, found);
    else if (found.answers || found.processes.length > 0) print(rows(describe(found)));
    const [fault] = getFaults(found);
    if (!found.ready) throw notReady(found, place);
    if (fault) throw new Failure(`The server is ready, but ${fault.detail}.`, `${self()} doctor`);
    return EXIT.done;
  },
};

async function look(place: Where): Promise<Status> {
  const readiness = await askReadiness(place);
  const processes = (place.run?.processes ?? []).map((process) => ({ ...process, alive: isAlive(process.pid) }));
  const found: Status = { url: place.url, ...readiness, processes };
  return readiness.answers ? { ...found, ...(await lookInside(place)) } : found;
}

/** Reads details that require scope admin. Without it the other details are still shown. */
async function lookInside(place: Where): Promise<Pick<Status, 'agents' | 'providers' | 'registry' | 'unknown'>> {
  if (place.token === undefined) return { unknown: createNoTokenFailure(place).message };
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
      ...(failed && !failed.ok ? { unknown: sentenceFor(failed.error, place) } : {}),
    };
  } catch (error) {
    if (!isRpcError(error)) throw error;
    return { unknown: sentenceFor(error, place) };
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
    ...describeServices(found.services),
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

function describeServices(services: Status['services'] = []): [string, string][] {
  const width = Math.max(0, ...services.map(({ service }) => service.length));
  const there = services.flatMap(({ service, state, replicas }) => {
    const texts = state === 'down' ? ['down: no replica answers'] : replicas.map(describeReplica);
    return texts.map((text): [string, string] => ['service', `${service.padEnd(width)}  ${text}`]);
  });
  const names = (wanted: ServicePresence['state']) => services.filter(({ state }) => state === wanted).map(({ service }) => service);
  const [absent, unbuilt] = [names('absent'), names('unbuilt')];
  return [
    ...there,
    ...(absent.length === 0 ? [] : [['not installed', absent.join(' ')] as [string, string]]),
    ...(unbuilt.length === 0 ? [] : [['not built', `${unbuilt.join(' ')}  (not implemented yet)`] as [string, string]]),
  ];
}

function describeReplica({ replica, version, startedAt, pid, host, readiness }: ServicePresence['replicas'][number]): string {
  const state =
    readiness === undefined ? '' : `  ${readiness.ready ? 'ready' : missing(readiness.dependencies).join(', ') || readiness.status}`;
  return `${replica}  ${version}  pid ${pid} on ${host}  up ${duration((Date.now() - startedAt) / 1000)}${state}`;
}

/** Describes the providers. `dev` is listed while it is available; the others may lack a key. */
function describeProviders(providers: readonly string[]): string {
  const others = providers.filter((provider) => provider !== 'dev').join(' ');
  const description = providers.includes('dev') ? 'dev answers, offline' : 'a real provider is configured';
  return others === '' ? description : `${description}; known: ${others}`;
}

function duration(seconds: number): string {
  if (seconds < 120) return `${Math.max(0, Math.round(seconds))} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

function notReady({ url, answers, state, processes }: Status, { local }: Where): Failure {
  if (answers) return new Failure(`The server at ${url} is not ready (${state}).`, `${self()} doctor`);
  const alive = processes.find((process) => process.alive);
  if (alive) return new Failure(`Process ${alive.pid} runs, but ${url} does not answer (${state}).`, `tail ${quote(alive.log)}`);
  const sentence = local ? `No server runs at ${url}.` : `No server answers at ${url} (${state}).`;
  return new Failure(sentence, local ? `${self()} start` : `${self()} doctor --url ${quote(url)}`);
}
