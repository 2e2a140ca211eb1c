import { relative } from 'node:path';
import type { IneffectiveSetting } from '@switchyard/service-kit';
import type { RunningProcess } from '@switchyard/contracts';

/** As many are named in a line; the log and `doctor` name all. */
const MOST_NAMED = 4;

/** What the banner tells. */
export interface Served {
  version: string;
  /** How it runs, in a few words. */
  how: string;
  /** What starts it again. */
  again: string;
  url: string;
  bus: string;
  data: string;
  services: string[];
  seconds: number;
  provider: string;
  /** Where they are served; undefined when nowhere. */
  metrics: string | undefined;
  /** Undefined when none that works is known here. */
  token: string | undefined;
  /** Whether a person reads this. What is not a terminal is kept, and a token does not belong there. */
  terminal: boolean;
  /** What to know about who can reach this. */
  warning: string | undefined;
  /** Each by itself, where there are several. */
  processes?: readonly RunningProcess[];
  /** What is set and has no effect. */
  notInForce: readonly IneffectiveSetting[];
  /** How the command is called from here, for this data. */
  command: string;
}

/** What a newcomer reads first: only what exists, each command as it can be pasted. */
export function banner(run: Served): string {
  const { url, bus, data, services, seconds, provider, metrics, warning, notInForce, command } = run;
  const rows: [label: string, text: string][] = [
    ['bus', bus === 'memory:' ? 'in-process                (SWITCHYARD_BUS=nats://… for a real one)' : withoutCredentials(bus)],
    ['services', `${services.join(' ')}   ${services.length}/${services.length} ready in ${seconds.toFixed(1)} s`],
    ['provider', provider],
    ['API', `${url}        JSON-RPC /rpc /ws · chat /api/chat · OpenAI /v1 · contract /openrpc.json`],
    ...(metrics === undefined ? [] : [['metrics', metrics] as [string, string]]),
    ['token', tokenText(run)],
    ...(warning === undefined ? [] : [['warning', warning] as [string, string]]),
    ...(notInForce.length === 0 ? [] : [['no effect', noEffectText(run)] as [string, string]]),
  ];
  return [
    `switchyard ${run.version}  ${run.how}; data in ${data}`,
    ...rows.map(([label, text]) => `  ${label.padEnd(10)} ${text}`),
    ...processLines(run),
    'Try:',
    `  ${command} ask "hello"`,
    `  ${command} rpc session.history channelId=gateway`,
    `  curl -sN "$(${command} url)/api/chat/stream?message=hello&token=$(${command} token)"`,
    '',
  ].join('\n');
}

function tokenText({ token, terminal, data, command, again }: Served): string {
  if (token === undefined) return `none that works is saved here; yours does, and SWITCHYARD_TOKEN=… ${again} gives you another`;
  return terminal ? `${token}  scopes *   saved in ${data}/token` : `saved in ${data}/token  scopes *   ${command} token   prints it`;
}

/** A line for each: who it is, where it listens, what it writes. */
function processLines({ processes = [] }: Served): string[] {
  const cells = processes.map(({ replica, pid, ports, log }) => [
    replica,
    `pid ${pid}`,
    Object.entries(ports)
      .map(([name, port]) => `${name} ${port}`)
      .join(' '),
    nearest(log),
  ]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(0, ...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row, at) => {
    const text = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
    return `  ${(at === 0 ? 'processes' : '').padEnd(10)} ${text.trimEnd()}`;
  });
}

/** A file as it is shortest to type. */
function nearest(file: string): string {
  const near = relative(process.cwd(), file);
  return near.startsWith('..') ? file : near;
}

/** `autoReplyEngine.enabled (config.yaml)`: accepted, so that one configuration serves this version and the next, but never in silence. */
function noEffectText({ notInForce, command }: Served): string {
  const named = notInForce.slice(0, MOST_NAMED).map(({ path, from }) => `${path} (${from})`);
  const more = notInForce.length - named.length;
  return `${named.join(', ')}: nothing reads this yet${more === 0 ? '' : `, nor ${more} more: ${command} doctor   names them`}`;
}

/** A bus URL may hold a password; the banner is for screens. */
export function withoutCredentials(url: string): string {
  return url.replaceAll(/(\/\/|,)[^@/,]*@/g, '$1');
}
