import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { createLogger } from '@switchyard/telemetry';
import { SECRETS, startTestGateway, type Answer } from '../gateway.fixture.ts';
import { createFailureLog, type Failure } from './failure-log.ts';

type Line = Record<string, unknown> & { requestIds?: string[]; err?: { message: string; stack: string } };

function capture() {
  const lines: Line[] = [];
  const log = createLogger({ destination: { write: (text: string) => void lines.push(JSON.parse(text) as Line) } });
  return { log, lines };
}

const failure = (n: number, overrides: Partial<Failure> = {}): Failure => ({
  requestId: `req_${n}`,
  route: 'POST /rpc',
  status: 429,
  code: 'RESOURCE_EXHAUSTED',
  message: 'Rate limit exceeded',
  address: '192.0.2.1',
  ...overrides,
});

test('writes one line per failure at first, then merges failures of one kind', () => {
  const { log, lines } = capture();
  using failures = createFailureLog(log);
  for (let n = 0; n < 500; n++) failures.log(failure(n, n % 2 === 0 ? {} : { address: '192.0.2.2' }));
  failures[Symbol.dispose]();
  const ids = lines.flatMap(({ requestId, requestIds = [requestId] }) => requestIds);
  assert.deepEqual(new Set(ids), new Set(Array.from({ length: 500 }, (_, n) => `req_${n}`)));
  assert.ok(lines.length <= 46, `${lines.length} lines`); // the failures may fall into two seconds
  for (const line of lines) {
    assert.deepEqual([line['level'], line['code'], line['error']], [30, 'RESOURCE_EXHAUSTED', 'Rate limit exceeded']);
    const parity = line['address'] === '192.0.2.1' ? 0 : 1;
    assert.ok((line.requestIds ?? [String(line['requestId'])]).every((id) => Number(id.slice(4)) % 2 === parity));
  }
});

test('writes merged failures within a second', async () => {
  const merged = Promise.withResolvers<void>();
  let last = '';
  const write = (text: string): void => {
    last = text;
    if (text.includes('"req_99"')) merged.resolve();
  };
  using failures = createFailureLog(createLogger({ destination: { write } }));
  for (let n = 0; n < 100; n++) failures.log(failure(n));
  // The timer also keeps the process alive, which the log does not.
  const late = setTimeout(() => merged.reject(new Error('nothing was written')), 5_000);
  await merged.promise;
  clearTimeout(late);
  assert.match(last, /"requestIds":\[/);
});

test('counts the failures of one request under one id', () => {
  const { log, lines } = capture();
  using failures = createFailureLog(log);
  for (let n = 0; n < 300; n++) failures.log(failure(7));
  failures[Symbol.dispose]();
  assert.ok(lines.every(({ requestId }) => requestId === 'req_7'));
  assert.equal(
    lines.reduce((sum, { count = 1 }) => sum + Number(count), 0),
    300,
  );
});

test('truncates the method and the path in a line', () => {
  const { log, lines } = capture();
  using failures = createFailureLog(log);
  failures.log(failure(1, { method: 'x'.repeat(1_000_000), message: 'y'.repeat(1_000_000), path: `/${'z'.repeat(10_000)}` }));
  assert.ok(JSON.stringify(lines[0]).length < 1_000);
});

test('logs a defect as an error with its stack, in the service and in the gateway', async () => {
  const { log, lines } = capture();
  const handlers = {
    'session.list': () => {
      throw new TypeError('undefined is not a session');
    },
    'session.history': () => {
      throw new ServiceError('UNAVAILABLE', 'The store is away.', { cause: new Error('disk on fire'), details: { reason: 'STORE' } });
    },
  };
  await using gateway = await startTestGateway({ log, handlers });
  const call = async (method: string): Promise<unknown> => {
    const response = await gateway.post('/rpc', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} }), { token: SECRETS.all });
    return ((await response.json()) as Answer).error?.data?.['requestId'];
  };
  const findLines = (requestId: unknown) => lines.filter((line) => line['requestId'] === requestId);

  const [service, edge] = findLines(await call('session.list'));
  assert.deepEqual([service?.['level'], service?.['method'], service?.err?.message], [50, 'session.list', 'undefined is not a session']);
  assert.match(service?.err?.stack ?? '', /failure-log\.test\.ts/);
  assert.deepEqual([edge?.['level'], edge?.['method'], edge?.['code'], edge?.['client']], [50, 'session.list', 'INTERNAL', 'all']);

  const [serviceLine, gatewayLine] = findLines(await call('session.history'));
  assert.deepEqual([serviceLine?.['level'], serviceLine?.['code'], serviceLine?.err?.message], [30, 'UNAVAILABLE', 'disk on fire']);
  assert.deepEqual(
    [gatewayLine?.['code'], gatewayLine?.['reason'], gatewayLine?.['error']],
    ['UNAVAILABLE', 'STORE', 'The store is away.'],
  );
});
