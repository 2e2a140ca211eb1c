import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, globSync, readFileSync, statSync, type Stats } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Where } from '../../server/server-location.ts';
import { systemCode } from '../../server/rpc-failure.ts';
import { isObject, parseJson } from '../../output/json-values.ts';
import { quote, ROOT, self } from '../../server/installation.ts';
import { bad, good, note, type Check } from './check.ts';

const OLDEST_NODE = 24;
const OTHERS = 0o077;

export function checkNode(version: string = process.versions.node): Check {
  if (Number.parseInt(version, 10) >= OLDEST_NODE) return good('node', `v${version}`);
  const checkout = existsSync(join(ROOT, 'bin/switchyard'));
  return bad(
    'node',
    `v${version} is older than ${OLDEST_NODE}${checkout ? '; bin/switchyard uses the newer one from node_modules' : ''}`,
    checkout ? `make -C ${quote(resolve(ROOT))} install` : `npm install --global node@${OLDEST_NODE}`,
  );
}

/** Checks that all dependencies of the checkout's packages are installed. */
export function checkPackages(root: string = ROOT): Check {
  const manifests = globSync(join(root, '{libs,services}/*/package.json'));
  const missing = new Set(
    manifests.flatMap((manifest) => getDependencies(manifest).filter((name) => !isInstalled(name, dirname(manifest), root))),
  );
  if (missing.size === 0) return good('packages', manifests.length === 0 ? 'installed' : `installed for ${manifests.length} workspaces`);
  const names = [...missing].slice(0, 3).join(', ');
  return bad(
    'packages',
    `${missing.size} packages are not installed: ${names}${missing.size > 3 ? ' …' : ''}`,
    `make -C ${quote(resolve(root))} install`,
  );
}

function getDependencies(manifest: string): string[] {
  const parsed = parseJson(readFileSync(manifest, 'utf8'));
  return isObject(parsed) && isObject(parsed['dependencies']) ? Object.keys(parsed['dependencies']) : [];
}

function isInstalled(name: string, workspace: string, root: string): boolean {
  return [workspace, root].some((directory) => existsSync(join(directory, 'node_modules', name, 'package.json')));
}

/** Checks that the data directory is writable and private, because it holds a token. */
export function checkData({ data }: Pick<Where, 'data'>): Check {
  const found = getStat(data);
  const fullText = resolve(data);
  if (found === undefined) {
    const above = nearestAbove(fullText);
    return canWrite(above)
      ? note('data', `${data} does not exist yet; the first start creates it`)
      : bad('data', `${above} is not writable, so ${data} cannot be created`, elsewhere());
  }
  if (!found.isDirectory()) return bad('data', `${data} is not a directory`, elsewhere());
  if (!canWrite(fullText)) return bad('data', `${data} is not writable`, elsewhere());
  if ((found.mode & OTHERS) !== 0) return bad('data', `other users can read ${data} (mode ${mode(found)})`, `chmod 700 ${quote(data)}`);
  return good('data', `${data} is writable and private`);
}

export function checkTokenFile({ data }: Pick<Where, 'data'>): Check {
  const file = join(data, 'token');
  const found = getStat(file);
  if (found === undefined) return note('saved token', 'none yet; the first start creates one');
  if ((found.mode & OTHERS) !== 0)
    return bad('saved token', `other users can read ${file} (mode ${mode(found)})`, `chmod 600 ${quote(file)}`);
  return good('saved token', `${file} is private`);
}

function getStat(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

function nearestAbove(path: string): string {
  const above = dirname(path);
  return existsSync(above) || above === path ? above : nearestAbove(above);
}

function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function mode({ mode }: Stats): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

function elsewhere(): string {
  return `${self()} start --data ~/.switchyard`;
}

/** Checks whether the port is free for a start. */
export async function checkPort({ url, local }: Pick<Where, 'url' | 'local'>): Promise<Check> {
  const { hostname, port, protocol } = new URL(url);
  if (!local) return note('port', `${url} is on another machine`);
  const number = Number(port || (protocol === 'https:' ? 443 : 80));
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen({ port: number, host: hostname.replace(/^\[|\]$/g, ''), exclusive: true }, resolve);
  try {
    await promise;
    return good('port', `${number} is free`);
  } catch (error) {
    const code = systemCode(error);
    const reason = code === 'EADDRINUSE' ? 'is used by another process' : `cannot be opened (${code ?? 'unknown error'})`;
    return bad('port', `${number} ${reason}`, `${self()} start --port 0`);
  } finally {
    server.close();
  }
}

/** Reports the version of nats-server. It is only needed for a bus between machines. */
export async function checkNatsServer(): Promise<Check> {
  const answer = await promisify(execFile)('nats-server', ['--version'], { timeout: 3_000 }).catch(() => undefined);
  return note('nats-server', answer === undefined ? 'not on the PATH; only a cluster needs it' : answer.stdout.trim());
}

/** Reports the optional programs of the media service. */
export async function checkMediaPrograms(): Promise<Check> {
  const has = async (program: string, flag: string): Promise<boolean> =>
    promisify(execFile)(program, [flag], { timeout: 3_000 }).then(
      () => true,
      () => false,
    );
  const [ffmpeg, bubblewrap] = await Promise.all([has('ffmpeg', '-version'), has('bwrap', '--version')]);
  if (ffmpeg && bubblewrap) return good('media', 'ffmpeg converts audio, bubblewrap isolates parsers');
  const missing = [
    ...(ffmpeg ? [] : ['no ffmpeg: audio is not converted']),
    ...(bubblewrap ? [] : ['no bubblewrap: parsers of documents are isolated by the kernel only']),
  ];
  const packages = [...(ffmpeg ? [] : ['ffmpeg']), ...(bubblewrap ? [] : ['bubblewrap'])];
  return note('media', missing.join('; '), `apt-get install ${packages.join(' ')}`);
}
