import { relative } from 'node:path';
import type { IneffectiveSetting } from '@switchyard/service-kit';
import type { RunningProcess } from '@switchyard/contracts';

/** Settings listed in the banner; the log and `doctor` list all. */
const MAX_NAMED = 4;

/** The content of the banner. */
export interface Served {
  version: string;
  /** How the product runs, in a few words. */
  how: string;
  /** The command that starts the product again. */
  again: string;
  url: string;
  bus: string;
  data: string;
  services: string[];
  seconds: number;
  provider: string;
  /** The address of the metrics; undefined if they are not served. */
  metrics: string | undefined;
  /** Undefined if the launcher knows no valid token. */
  token: string | undefined;
  /** Whether the output is a terminal. The token is not printed elsewhere, because the output may be stored. */
  terminal: boolean;
  /** A warning about an unprotected address. */
  warning: string | undefined;
  /** The processes, if there are several. */
  processes?: readonly RunningProcess[];
  /** Settings without effect. */
  notInForce: readonly IneffectiveSetting[];
  /** The command line of the CLI for this data directory. */
  command: string;
}

/** Renders the banner that is printed after a successful start. Every command in it can be pasted. */
export function banner(run: Served): string {
  const { url, bus, data, services, seconds, provider, metrics, warning, notInForce, command } = run;
  const rows: [label: string, text: string][] = [
    ['bus', bus === 'memory:' ? 'in-process                (SWITCHYARD_BUS=nats://… for a real one)' : withoutCredentials(bus)],
    ['services', `${services.join(' ')}   ${services.length}/${services.length} ready in ${seconds.toFixed(1)} s`],
    ['provider', provider],
    ['API', `${url}        JSON-RPC /rpc /ws · chat /api/chat · OpenAI /openai/v1 · contract /openrpc.json`],
    ...(metrics === undefined ? [] : [['metrics', metrics] as [string, string]]),
    ['token', tokenText(run)],
    ...(warning === undefined ? [] : [['warning', warning] as [string, string]]),
    ...(notInForce.length === 0 ? [] : [['no effect', formatUnusedSettings(run)] as [string, string]]),
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
  if (token === undefined) return `the saved token is no longer valid; use your own, or set another one: SWITCHYARD_TOKEN=… ${again}`;
  return terminal ? `${token}  scopes *   saved in ${data}/token` : `saved in ${data}/token  scopes *   ${command} token   prints it`;
}

/** Renders one line per process: replica, pid, ports and log file. */
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

/** Returns the relative path of a file below the current directory, else the absolute path. */
function nearest(file: string): string {
  const near = relative(process.cwd(), file);
  return near.startsWith('..') ? file : near;
}

/** Renders settings without effect, such as `autoReplyEngine.enabled (config.yaml)`. They are accepted so that one configuration can serve two versions. */
function formatUnusedSettings({ notInForce, command }: Served): string {
  const named = notInForce.slice(0, MAX_NAMED).map(({ path, from }) => `${path} (${from})`);
  const more = notInForce.length - named.length;
  return `${named.join(', ')}: not used by any service yet${more === 0 ? '' : `, and ${more} more; list them: ${command} doctor`}`;
}

/** Removes user names and passwords from a bus URL. */
export function withoutCredentials(url: string): string {
  return url.replaceAll(/(\/\/|,)[^@/,]*@/g, '$1');
}
