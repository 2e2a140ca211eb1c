import type { ServicePresence } from '@switchyard/contracts';
import { EXIT, type Command, type Invocation } from '../arguments/command.ts';
import { commandHelp } from '../arguments/command-help.ts';
import { createNoTokenFailure, type Where } from '../server/server-location.ts';
import { Failure, wrongUsage } from '../output/failure.ts';
import { missing } from '../server/server-faults.ts';
import { print, printAs, rows } from '../output/output.ts';
import { askReadiness } from '../server/readiness.ts';
import { quote, self } from '../server/installation.ts';

type Replica = ServicePresence['replicas'][number];

export const services: Command = {
  flags: [],
  help: () =>
    commandHelp(
      'services [name]',
      'Lists the replicas of each service with their versions and the request counts of their methods since their start, like `nats micro stats`. Requires a token with scope admin.',
      { examples: ['services', 'services sessions', 'services -o json'] },
    ),
  async run({ output, where, words }: Invocation) {
    const matches = await requestPresence(where());
    const [name, ...more] = words;
    if (more.length > 0) throw wrongUsage('services takes at most one name.', `${self()} services`);
    const listed = name === undefined ? matches : matches.filter(({ service }) => service === name);
    if (listed.length === 0) throw wrongUsage(`Unknown service ${name}.`, `${self()} services`);
    if (output !== 'table') printAs(output, listed);
    else print(listed.map(describe).join(''));
    return EXIT.done;
  },
};

async function requestPresence(where: Where): Promise<ServicePresence[]> {
  const { url, token } = where;
  if (token === undefined) throw createNoTokenFailure(where);
  const { answers, state, services: found } = await askReadiness({ url, token }, { endpoints: true });
  if (!answers) throw new Failure(`No server answers at ${url} (${state}).`, `${self()} doctor --url ${quote(url)}`);
  if (found) return found;
  throw new Failure(`${url} does not list its services. This requires a token with scope admin and a reachable bus.`, `${self()} doctor`);
}

function describe({ service, state, replicas }: ServicePresence): string {
  if (state === 'down') return `${service}  down: no replica answers\n`;
  if (state === 'absent') return `${service}  not installed\n`;
  if (state === 'unbuilt') return `${service}  not built\n`;
  return replicas.map((replica) => `${service}  ${describeReplica(replica)}\n${describeUse(replica)}`).join('');
}

function describeReplica({ replica, version, pid, host, readiness }: Replica): string {
  const state =
    readiness === undefined ? '' : readiness.ready ? '  ready' : `  ${missing(readiness.dependencies).join(', ') || readiness.status}`;
  return `${replica}  ${version}  pid ${pid} on ${host}${state}`;
}

function describeUse({ endpoints = [] }: Replica): string {
  const lines = endpoints.map(({ method, requests, errors, averageMs, lastError }): [string, string] => [
    `  ${method}`,
    [`${requests} requests`, `${errors} errors`, `${averageMs.toFixed(2)} ms`, ...(lastError === '' ? [] : [lastError])].join('  '),
  ]);
  return rows(lines);
}
