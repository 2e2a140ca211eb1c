import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hideValue } from './masked-values.ts';
import type { LogLevel } from './levels.ts';
import { bindTrace, createLogger, silentLogger } from './logger.ts';

const CANARY = 'canary-value-that-must-not-be-seen';

function capture(level: LogLevel = 'trace') {
  const lines: string[] = [];
  const log = createLogger({ level, base: { module: 'test' }, destination: { write: (line: string) => void lines.push(line) } });
  const last = (): Record<string, unknown> => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown>;
  return { log, lines, last };
}

test('a line contains level, time, module and message', () => {
  const { log, last } = capture();
  log.info({ durationMs: 3 }, 'served');
  const { time, ...line } = last();
  assert.equal(typeof time, 'number');
  assert.deepEqual(line, { level: 30, module: 'test', durationMs: 3, msg: 'served' });
});

test('audit stands between info and warn', () => {
  const { log, lines, last } = capture('warn');
  log.audit('not written at warn');
  assert.equal(lines.length, 0);
  log.level = 'audit';
  log.info('not written either');
  log.audit({ actor: 'env' }, 'revoked');
  assert.equal(lines.length, 1);
  assert.equal(last()['level'], 35);
});

test('redacts secret keys at any depth and cuts objects below the fourth level', () => {
  for (let depth = 1; depth <= 6; depth++) {
    const { log, lines } = capture();
    let fields: Record<string, unknown> = { password: CANARY, note: `depth ${depth}` };
    for (let level = 1; level < depth; level++) fields = { inner: fields };
    log.info(fields, 'x');
    assert.ok(!lines[0]?.includes(CANARY), `depth ${depth}: ${lines[0]}`);
    assert.equal(lines[0]?.includes(`depth ${depth}`), depth <= 4, `depth ${depth}: ${lines[0]}`);
    if (depth > 4) assert.match(lines[0] ?? '', /\[Object\]/);
  }
});

test('recognizes secret keys in any spelling and as the end of a longer name', () => {
  const { log, last } = capture();
  const keys = ['apiKey', 'API_KEY', 'x-api-key', 'OPENAI_API_KEY', 'Token', 'botToken', 'clientSecret', 'Authorization', 'set-cookie'];
  log.info(Object.fromEntries([...keys, 'key', 'credentials', 'connectionString'].map((key) => [key, CANARY])));
  for (const key of keys) assert.equal(last()[key], '[REDACTED]', key);
  assert.ok(!JSON.stringify(last()).includes(CANARY));
});

test('does not redact keys that only resemble secret keys', () => {
  const { log, last } = capture();
  const fields = { tokensIn: 7, maxTokens: 8, sessionKey: 'default:env:gateway', keyName: 'a', traceId: 'f'.repeat(32), secret: null };
  log.info(fields);
  const { level: _level, time: _time, module: _module, ...rest } = last();
  assert.deepEqual(rest, fields);
});

test('writes arrays, cycles, bytes, maps, dates and throwing values safely', () => {
  const { log, last } = capture();
  const ring: Record<string, unknown> = { name: 'ring' };
  ring['self'] = ring;
  const hostile = {
    get broken(): string {
      throw new Error(CANARY);
    },
  };
  log.info({
    list: [{ token: CANARY }, [{ secret: CANARY }], 'Bearer abc'],
    ring,
    bytes: Buffer.from(CANARY),
    view: new Uint8Array(3),
    map: new Map([['token', CANARY]]),
    at: new Date(0),
    url: new URL(`https://x.example/p?token=${CANARY}`),
    big: 10n,
    hostile,
    proxy: new Proxy({}, { ownKeys: () => assert.fail(CANARY) }),
    call: () => CANARY,
  });
  const line = last();
  assert.ok(!JSON.stringify(line).includes(CANARY), JSON.stringify(line));
  assert.deepEqual(line['list'], [{ token: '[REDACTED]' }, [{ secret: '[REDACTED]' }], 'Bearer [REDACTED]']);
  assert.deepEqual(line['ring'], { name: 'ring', self: '[Circular]' });
  assert.deepEqual([line['bytes'], line['view'], line['map']], [`[${CANARY.length} bytes]`, '[3 bytes]', '[Map of 1]']);
  assert.deepEqual([line['at'], line['big']], ['1970-01-01T00:00:00.000Z', '10']);
  assert.deepEqual(line['hostile'], { broken: '[unreadable]' });
});

test('cuts long lists and texts', () => {
  const { log, last } = capture();
  log.info({ list: Array.from({ length: 1_000 }, (_, n) => n), text: 'x '.repeat(10_000) });
  assert.equal((last()['list'] as unknown[]).length, 101);
  assert.ok(String(last()['text']).length < 9_000);
});

test('writes stack, code, details and cause of an error, but no other properties', () => {
  const { log, last } = capture();
  const cause = Object.assign(new Error('connect failed for sk-abcdefgh12345678'), { code: 'ECONNREFUSED' });
  const err = Object.assign(new Error('no answer', { cause }), {
    code: 'UNAVAILABLE',
    details: { reason: 'DOWN', apiKey: CANARY },
    request: { body: CANARY },
  });
  log.error(err);
  const written = last()['err'] as Record<string, unknown>;
  assert.equal(last()['msg'], 'no answer');
  assert.match(String(written['stack']), /logger\.test\.ts/);
  assert.deepEqual(
    [written['type'], written['code'], written['details']],
    ['Error', 'UNAVAILABLE', { reason: 'DOWN', apiKey: '[REDACTED]' }],
  );
  const { stack, ...rest } = written['cause'] as Record<string, unknown>;
  assert.deepEqual(rest, { type: 'Error', message: 'connect failed for [REDACTED]', code: 'ECONNREFUSED' });
  assert.ok(!String(stack).includes('sk-abc') && !JSON.stringify(last()).includes(CANARY));
  log.error({ error: new AggregateError([new Error('a'), new Error('b')], 'both') }, 'x');
  assert.equal(((last()['error'] as Record<string, unknown>)['errors'] as unknown[]).length, 2);
});

test('scrubs messages, arguments and bound fields', () => {
  const { log, lines, last } = capture();
  const child = log.child({ from: 'Bearer abcdef', token: CANARY }).child({ deep: { password: CANARY } });
  child.info({ url: `/ws?token=${CANARY}&x=1` }, 'sent %s %j', `sy_pat_abc_${CANARY}`, { apiKey: CANARY });
  assert.ok(!lines[0]?.includes(CANARY), lines[0]);
  assert.equal(last()['url'], '/ws?token=[REDACTED]&x=1');
  assert.equal(last()['from'], 'Bearer [REDACTED]');
});

test('does not read the fields of a disabled line', () => {
  const { log } = capture('info');
  const untouchable = new Proxy({}, { get: () => assert.fail('read'), ownKeys: () => assert.fail('listed') });
  log.debug(untouchable, 'not written');
  log.child({ requestId: 'a' }).debug(untouchable);
});

test('children follow level changes and carry the trace', () => {
  const { log, lines, last } = capture('warn');
  const child = bindTrace(log, { requestId: 'req_1', traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` });
  child.info('not yet');
  log.level = 'info';
  child.info('now');
  assert.equal(lines.length, 1);
  assert.deepEqual([last()['requestId'], last()['traceId']], ['req_1', 'a'.repeat(32)]);
});

test('the silent logger has all levels and writes nothing', () => {
  const log = silentLogger();
  assert.equal(log.isLevelEnabled('fatal'), false);
  log.audit('nobody hears it');
});

test('without redaction only known secret values are masked', () => {
  const [key, known] = ['sk-ant-0123456789abcdef', 'plover-of-the-operator'];
  hideValue(known);
  for (const redaction of [true, false]) {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const log = createLogger({ destination, redaction }).child({ token: `bound ${key}` });
    log.info(
      { password: 'of nobody', nested: { text: `${key} ${known}` }, err: new Error(`with ${key} and ${known}`) },
      `${key}, ${known}`,
    );
    const line = lines.join('');
    assert.equal(line.split(key).length - 1 >= 5, !redaction, line);
    assert.equal(line.includes('of nobody'), !redaction);
    if (redaction) assert.ok(!line.includes(key));
    assert.ok(!line.includes(known), line);
  }
});

test('audit: false drops only audit lines', () => {
  const lines: string[] = [];
  const log = createLogger({ destination: { write: (line: string) => void lines.push(line) }, audit: false });
  for (const one of [log, log.child({ service: 'secrets' })]) {
    one.audit({ client: 'root' }, 'a token was revoked');
    one.info('served');
  }
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
    ['served', 'served'],
  );
});
