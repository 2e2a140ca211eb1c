import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Folders that open sockets. All other code sends its requests through libs/egress. */
const SOCKET_OWNERS: Readonly<Record<string, string>> = {
  'libs/egress/': 'the way out',
  'libs/bus/': 'connections to NATS',
  'libs/store/': 'connections to the database',
  'libs/cache/': 'connections to Redis',
  'libs/blob/src/grpc/': 'the blob port of other processes, set by the operator',
  'libs/service-kit/src/health/': 'listeners for probes and metrics',
  'services/gateway/src/http/': 'the listener of the gateway',
  'services/gateway/src/websocket/': 'WebSockets on the listener of the gateway',
  'libs/client/': 'runs in programs of users',
  'services/dashboard/': 'runs in browsers',
  'libs/cli/': 'the command of the user',
  'libs/testkit/': 'tests',
};

const TEST_FILE = /\.(test|fixture|contract|bench)\.ts$/;
const SOCKET_MODULE = String.raw`(?:node:)?(?:net|tls|http|https|http2|dgram|inspector)|undici|ws|@grpc/grpc-js`;
/** Exports of these modules that open no socket. */
const HARMLESS: ReadonlySet<string> = new Set(['isIP', 'isIPv4', 'isIPv6', 'BlockList', 'STATUS_CODES', 'METHODS']);
const COMMENT_OR_STRING = /\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/.*$/gm;
const STATIC_IMPORT = new RegExp(String.raw`\bimport\s+(?!type\b)([^'";]+?)\s+from\s+['"](${SOCKET_MODULE})['"]`, 'g');
const OTHER_IMPORTS: readonly RegExp[] = [
  new RegExp(String.raw`\bimport\s*\(\s*['"](?:${SOCKET_MODULE})['"]`, 'g'),
  new RegExp(String.raw`\b(?:getBuiltinModule|require)\s*\(\s*['"](?:${SOCKET_MODULE})['"]`, 'g'),
  new RegExp(String.raw`\bimport\s+['"](?:${SOCKET_MODULE})['"]`, 'g'),
];
const GLOBALS =
  /(?<![.\w$]|function |async )fetch\s*\((?!\s*\w+\s*[:?])|\bglobalThis\.(?:fetch|WebSocket|EventSource)\b|\bnew\s+(?:WebSocket|EventSource)\s*\(/g;

/** Finds the places in a source text that can open a socket. */
export function findSockets(source: string): string[] {
  const code = source.replaceAll(COMMENT_OR_STRING, '');
  const imports = [...code.matchAll(STATIC_IMPORT)].flatMap(([statement, names = '']) => (opensSocket(names) ? [statement] : []));
  const others = [...OTHER_IMPORTS, GLOBALS].flatMap((pattern) => [...code.matchAll(pattern)].map(([found]) => found));
  return [...imports, ...others].map((found) => found.replaceAll(/\s+/g, ' '));
}

/** Whether an import clause has a value other than the harmless ones. */
function opensSocket(clause: string): boolean {
  const names = /^\{([\s\S]*)\}$/.exec(clause.trim())?.[1];
  if (names === undefined) return true;
  const values = names.split(',').map((name) => name.trim());
  return values.some((name) => name !== '' && !name.startsWith('type ') && !HARMLESS.has(name.split(/\s+as\s+/)[0] ?? ''));
}

/** Lists the sockets that services and libraries open outside their owners, one line each. */
export function listForeignSockets(): string[] {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  return globSync('{libs,services}/*/src/**/*.ts', { cwd: root })
    .filter((file) => !TEST_FILE.test(file) && !Object.keys(SOCKET_OWNERS).some((owner) => file.startsWith(owner)))
    .toSorted()
    .flatMap((file) => findSockets(readFileSync(`${root}${file}`, 'utf8')).map((found) => `${file}: ${found}`));
}
