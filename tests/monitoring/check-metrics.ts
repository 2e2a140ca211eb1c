import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = fileURLToPath(new URL('./', import.meta.url));
const tools = fileURLToPath(new URL('../../.tools/', import.meta.url));
const INSTALL_MS = 120_000;

/** Checks Prometheus formats with promtool: that of SWITCHYARD_PROMTOOL or of the PATH, or the one of this installation. */
export const promtool: string | undefined = process.env['SWITCHYARD_PROMTOOL'] ?? findOnPath('promtool') ?? (await installPromtool());

/** The checker in use, for the titles of tests. */
export const checker = promtool === undefined ? 'our own rules; promtool is not here' : 'promtool';

/** Returns the faults of an exposition, or an empty text. */
export async function checkMetrics(exposition: string): Promise<string> {
  return promtool === undefined ? ownRules(exposition).join('\n') : runChecker(promtool, ['check', 'metrics'], exposition);
}

/** Returns the faults of a rules or configuration file. Needs promtool. */
export async function checkFile(kind: 'rules' | 'config', file: string): Promise<string | undefined> {
  return promtool === undefined
    ? undefined
    : runChecker(promtool, ['check', kind, ...(kind === 'config' ? ['--syntax-only'] : []), file], '');
}

async function runChecker(program: string, args: readonly string[], input: string): Promise<string> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(input);
  const [out, err, [code]] = (await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])) as [
    string,
    string,
    [number],
  ];
  return code === 0 && err === '' ? '' : `${out}${err}(${code})`;
}

/** Installs promtool once under a lock. Returns undefined on a system without Debian packages, or without a network. */
async function installPromtool(): Promise<string | undefined> {
  const target = join(tools, 'promtool');
  mkdirSync(tools, { recursive: true });
  try {
    await run('flock', [`${target}.lock`, join(here, 'install-promtool.sh'), target], { timeout: INSTALL_MS });
    return join(target, 'promtool');
  } catch {
    return undefined;
  }
}

function findOnPath(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

const SAMPLE = /^([a-z][a-z0-9_]*)(\{(?:[a-z_][a-z0-9_]*="(?:[^"\\\n]|\\["\\n])*"(?:,|(?=\})))*\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?)$/;

/** Checks the format and promtool's naming rules. */
function ownRules(exposition: string): string[] {
  const problems: string[] = [];
  const types = new Map<string, string>();
  const helped = new Set<string>();
  const seen = new Set<string>();
  for (const line of exposition.split('\n').slice(0, -1)) {
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (word === 'HELP') helped.add(name);
    else if (word === 'TYPE') types.set(name, rest);
    else problems.push(...ofSample(line, types, helped, seen));
  }
  if (!exposition.endsWith('\n')) problems.push('the last line does not end');
  return problems;
}

function ofSample(line: string, types: ReadonlyMap<string, string>, helped: ReadonlySet<string>, seen: Set<string>): string[] {
  const [, name = '', labels = ''] = SAMPLE.exec(line) ?? [];
  if (name === '') return [`not a sample: ${line}`];
  const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
  const type = types.get(family);
  return [
    ...(type === undefined || !helped.has(family) ? [`${name} has no type or no help`] : []),
    ...(seen.has(name + labels) ? [`${name}${labels} stands there twice`] : []),
    ...((type === 'counter') === name.endsWith('_total') ? [] : [`${name}: counters, and nothing else, end in _total`]),
    ...(seen.add(name + labels) && type !== 'histogram' && /_(bucket|sum|count)$/.test(name) ? [`${name} ends as a histogram does`] : []),
  ];
}
