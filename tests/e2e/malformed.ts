import { connect } from 'node:net';
import { publicMethods } from '@switchyard/contracts';
import fc from 'fast-check';

/** A route of /openapi.json. */
export interface Target {
  verb: string;
  path: string;
  /** Field names of its body and query. */
  names: string[];
  /** Documented status codes. */
  declared: ReadonlySet<number>;
}

export interface Malformed {
  target: Target;
  bytes: Buffer;
  /** The framing is inconsistent, so there may be no response. */
  broken: boolean;
}

/** Documented routes, and the WebSocket, a preflight and an unknown path. */
export function getTargets({ paths }: OpenApi): Target[] {
  const documented = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({
      verb: verb.toUpperCase(),
      path,
      names: [
        ...new Set(
          [...JSON.stringify(operation).matchAll(/"([A-Za-z_][\w-]*)":\{"(?:type|anyOf|description)"/g)].map(([, name]) => name ?? ''),
        ),
      ],
      declared: new Set(Object.keys(operation.responses).map(Number)),
    })),
  );
  const others = [
    ['GET', '/ws'],
    ['OPTIONS', '/api/chat'],
    ['GET', '/no/such/route'],
    ['POST', '/v1/{unknown}'],
  ] as const;
  return [...documented, ...others.map(([verb, path]) => ({ verb, path, names: [], declared: new Set<number>() }))];
}

export interface OpenApi {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
}

const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>): fc.WeightedArbitrary<T> => ({ weight, arbitrary });

/** Characters allowed in a header value. */
const value = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 60,
});
const type = fc.constantFrom(
  'application/json',
  'application/json; charset=utf-16',
  'application/json;charset="utf-8',
  'text/plain',
  'multipart/form-data; boundary=',
  'application/x-www-form-urlencoded',
  '',
  '*/*',
  'application/vnd.api+json',
);
const header = fc.oneof(
  often(3, fc.tuple(fc.constant('content-type'), fc.oneof(type, value))),
  fc.tuple(
    fc.constantFrom(
      'accept',
      'origin',
      'host',
      'last-event-id',
      'idempotency-key',
      'x-request-id',
      'traceparent',
      'x-forwarded-for',
      'cookie',
      'range',
      'if-none-match',
      'mcp-protocol-version',
      'mcp-session-id',
      'mcp-method',
      'accept-encoding',
      'authorization',
    ),
    value,
  ),
  fc.constantFrom<[string, string]>(
    ['content-encoding', 'gzip'],
    ['expect', '100-continue'],
    ['expect', 'nothing'],
    ['upgrade', 'websocket'],
    ['upgrade', 'h2c'],
    ['accept', 'text/event-stream'],
    ['accept', 'application/json, text/event-stream'],
    ['mcp-protocol-version', '2026-07-28'],
    ['mcp-protocol-version', '1999-01-01'],
    ['te', 'trailers'],
    ['content-type', 'application/json'],
  ),
);

const getShape = (names: readonly string[]): fc.Arbitrary<unknown> => {
  const key = fc.oneof(
    often(4, fc.constantFrom(...names, 'message')),
    fc.constantFrom('__proto__', 'constructor', ''),
    fc.string({ maxLength: 8 }),
  );
  const scalar = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.double(),
    fc.constantFrom<unknown>(null, true, [], {}, -1, 1e308, 'x'),
  );
  return fc.oneof(
    often(5, fc.dictionary(key, fc.oneof(often(2, scalar), fc.jsonValue({ maxDepth: 3 })), { maxKeys: 5 })),
    fc.jsonValue({ maxDepth: 3 }),
    scalar,
  );
};
/** Any method with an unknown param: its service rejects the call without effect. */
const call = fc.record({
  jsonrpc: fc.constant('2.0'),
  method: fc.oneof(fc.constantFrom(...publicMethods.keys()), fc.string({ unit: 'binary' })),
  params: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }).map((params) => ({ ...params, 'no such param': 1 })),
  id: fc.jsonValue({ maxDepth: 1 }),
});
const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
const mcpCall = fc.record({
  jsonrpc: fc.constant('2.0'),
  method: fc.constantFrom(
    'initialize',
    'tools/list',
    'tools/call',
    'server/discover',
    'subscriptions/listen',
    'resources/read',
    'ping',
    'notifications/cancelled',
    'x',
  ),
  params: fc.oneof(
    fc.constant({ _meta: meta }),
    fc.jsonValue({ maxDepth: 3 }),
    fc.dictionary(fc.constantFrom('name', 'arguments', '_meta', 'uri', 'protocolVersion', 'cursor'), fc.jsonValue({ maxDepth: 2 })),
  ),
  id: fc.oneof(fc.integer(), fc.jsonValue({ maxDepth: 1 })),
});
const deep = fc.nat(3_000).map((depth) => '['.repeat(depth) + ']'.repeat(depth));

function getBody({ path, names }: Target): fc.Arbitrary<Buffer> {
  const own: fc.Arbitrary<unknown> =
    path === '/rpc' ? fc.oneof(call, fc.array(call, { maxLength: 4 })) : path === '/mcp' ? mcpCall : getShape(names);
  const text = own.map((json) => JSON.stringify(json) ?? '');
  const cut = fc.tuple(text, fc.nat()).map(([fullText, at]) => fullText.slice(0, at % (fullText.length + 1)));
  return fc.oneof(
    often(
      6,
      text.map((json) => Buffer.from(json)),
    ),
    often(
      2,
      cut.map((json) => Buffer.from(json)),
    ),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    deep.map((json) => Buffer.from(json)),
    deep.map((json) => Buffer.from(`{"message":${json},"input":${json},"params":${json}}`)),
  );
}

const part = fc.oneof(
  often(3, fc.string({ maxLength: 12 }).map(encodeURIComponent)),
  fc.constantFrom('..', '%2e%2e', '%00', '%', '%zz', '%ff', 'resp_0', '~', 'a'.repeat(300)),
);
const query = fc.oneof(
  often(3, fc.constant('')),
  fc
    .array(
      fc.tuple(
        fc.constantFrom('q', 'message', 'limit', 'token', 'lastEventId', 'stream', 'starting_after', 'channelId', 'after', '__proto__'),
        part,
      ),
      { maxLength: 3 },
    )
    .map((pairs) => `?${pairs.map((pair) => pair.join('=')).join('&')}`),
);
type Framing = 'whole' | 'chunked' | 'crumbs' | 'none' | 'twice' | 'both' | 'short' | 'negative';
const framing = fc.oneof(
  often(8, fc.constant<Framing>('whole')),
  fc.constantFrom<Framing>('chunked', 'crumbs', 'none', 'twice', 'both', 'short', 'negative'),
);
const BROKEN: ReadonlySet<Framing> = new Set(['twice', 'both', 'short', 'negative', 'none']);

/** The bytes of a request to a route, with some parts malformed. */
export function malformed(targets: readonly Target[], token: string): fc.Arbitrary<Malformed> {
  return fc.oneof(...targets.map((target) => requestTo(target, token)));
}

function requestTo(target: Target, token: string): fc.Arbitrary<Malformed> {
  return fc
    .record({
      verb: fc.oneof(
        often(12, fc.constant(target.verb)),
        fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'get', 'BREW'),
      ),
      parts: fc.array(part, { minLength: 3, maxLength: 3 }),
      query,
      headers: fc.array(header, { maxLength: 5 }),
      known: fc.oneof(often(8, fc.constant(true)), fc.constant(false)),
      json: fc.boolean(),
      body: getBody(target),
      framing,
      junk: fc.oneof(often(30, fc.constant('')), value),
    })
    .map(({ verb, parts, query: question, headers, known, json, body, framing: framed, junk }) => {
      const path = target.path.replaceAll(/\{\w+\}/g, () => parts.pop() ?? 'x') + question;
      const lines = [`${verb} ${path} HTTP/1.1`, 'host: 127.0.0.1', 'connection: close'];
      if (known) lines.push(`authorization: Bearer ${token}`);
      if (json) lines.push('content-type: application/json');
      lines.push(...headers.map(([name, text]) => `${name}: ${text}`), ...(junk === '' ? [] : [junk]));
      const bytes = frame(lines, body, framed);
      return { target, bytes, broken: BROKEN.has(framed) || junk !== '' };
    });
}

/** The framing headers of a body, and the bytes sent. */
const FRAMES: Readonly<Record<Framing, (body: Buffer) => { head: string[]; sent: Buffer }>> = {
  whole: (body) => ({ head: [getLength(body)], sent: body }),
  chunked: (body) => ({ head: [CHUNKED], sent: inChunks(body, 4_096) }),
  crumbs: (body) => ({ head: [CHUNKED], sent: inChunks(body, 1) }),
  none: (body) => ({ head: [], sent: body }),
  twice: (body) => ({ head: [getLength(body), getLength(body, 1)], sent: body }),
  both: (body) => ({ head: [getLength(body), CHUNKED], sent: inChunks(body, 64) }),
  short: (body) => ({ head: [getLength(body, 10)], sent: body }),
  negative: (body) => ({ head: ['content-length: -1'], sent: body }),
};
const CHUNKED = 'transfer-encoding: chunked';

function getLength({ length }: Buffer, more = 0): string {
  return `content-length: ${length + more}`;
}

function inChunks(body: Buffer, size: number): Buffer {
  const all: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const chunk = body.subarray(at, at + size);
    all.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...all, Buffer.from('0\r\n\r\n')]);
}

function frame(lines: string[], body: Buffer, framed: Framing): Buffer {
  const { head, sent } = FRAMES[framed](body);
  return Buffer.concat([Buffer.from(`${[...lines, ...head].join('\r\n')}\r\n\r\n`, 'latin1'), sent]);
}

export interface Received {
  /** Undefined when the connection ended without an answer. */
  status: number | undefined;
  ms: number;
  text: string;
}

/** Sends bytes and waits for the response head only. */
export function sendBytes(url: string, { bytes, broken }: Malformed, hangMs: number): Promise<Received> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const startedAt = performance.now();
    let text = '';
    const end = (): void => {
      clearTimeout(late);
      socket.destroy();
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, ''))?.[1];
      resolve({ status: status === undefined ? undefined : Number(status), ms: performance.now() - startedAt, text });
    };
    const late = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no answer within ${hangMs} ms`));
    }, hangMs);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (/\r\n\r\n/.test(text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, ''))) end();
    });
    socket.on('close', end).on('error', end);
    // A client that closes its sending side counts as gone. Only requests that could wait for more input do so.
    if (broken) socket.end(bytes);
    else socket.write(bytes);
  });
}
