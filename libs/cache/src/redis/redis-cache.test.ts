import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startRedisServer, type RedisServer } from '@switchyard/testkit';
import { createLogger, silentLogger } from '@switchyard/telemetry';
import { Redis } from 'ioredis';
import type { Cache, Note } from '../port/cache.ts';
import { cacheContract } from '../contract/cache.contract.ts';
import { openCache } from '../open-cache.ts';

/** Long timeout for tests on a busy machine. Only the tests of the timeout use the default. */
const PATIENT_MS = 5_000;
const rate = { max: 3, windowMs: 60_000 };

let server: RedisServer;
let admin: Redis;
before(async () => {
  server = await startRedisServer();
  admin = new Redis(server.url);
});
after(async () => {
  admin.disconnect();
  await server.stop();
});

cacheContract('redis', async () => {
  await admin.flushall();
  return openCache(server.url, { service: 'sessions', log: silentLogger(), timeoutMs: PATIENT_MS });
});

describe('replicas on one Redis server', () => {
  test('replicas share entries, other services do not', async (t) => {
    await admin.flushall();
    const [a, b, other] = [await open(t, server.url), await open(t, server.url), await open(t, server.url, { service: 'secrets' })];
    for (const one of [a, b, a]) assert.equal(await one.take(['acme'], rate), 0);
    assert.ok((await b.take(['acme'], rate)) > 0);
    assert.equal(await a.add(['acme'], 2, 1_000), 2);
    await a.set(['acme'], 'x', 1_000);
    assert.deepEqual([await b.count(['acme']), await b.get(['acme'])], [2, 'x']);
    assert.deepEqual([await other.take(['acme'], rate), await other.count(['acme']), await other.get(['acme'])], [0, 0, undefined]);
  });

  test('every entry has the prefix, a TTL and a hashed key', async (t) => {
    await admin.flushall();
    const cache = await open(t, server.url);
    await cache.take(['203.0.113.9'], rate);
    await cache.add(['203.0.113.9'], 1, 60_000);
    await cache.set(['*?[a]\r\n203.0.113.9'], 'x', 60_000);
    await cache.board(['203.0.113.9'], 60_000).exchange('x');
    const names = (await admin.keys('*')).sort().filter((name) => name !== 'switchyard:sessions:probe');
    assert.deepEqual(
      names.map((name) => name.replace(/[\w-]{43}$/, '#')),
      ['switchyard:sessions:board:#', 'switchyard:sessions:counter:#', 'switchyard:sessions:value:#', 'switchyard:sessions:window:#'],
    );
    for (const name of names) {
      const remaining = await admin.pttl(name);
      assert.ok(remaining > 0 && remaining <= 60_000, `${name} ends in ${remaining}`);
    }
  });

  test('a lost board restarts, even if the clock of the new server is behind', async (t) => {
    await admin.flushall();
    const [a, b] = [(await open(t, server.url)).board(['x'], 60_000), (await open(t, server.url)).board(['x'], 60_000)];
    await a.exchange('before');
    const [name = ''] = await admin.keys('*board*');
    await admin.xadd(name, String(Date.now() + 3_600_000), 'by', 'somebody', 'note', 'of the future');
    assert.deepEqual(texts(await b.exchange()), ['before', 'of the future']);
    await admin.del(name);
    assert.deepEqual(await b.exchange(), []);
    await a.exchange('after');
    assert.deepEqual(texts(await b.exchange()), ['after']);
    assert.deepEqual(await b.exchange(), []);
  });

  test('a window stays small at a high rate', async (t) => {
    await admin.flushall();
    const cache = await open(t, server.url);
    const fast = { max: 1_000_000, windowMs: 200 };
    const end = Date.now() + 600;
    while (Date.now() < end) assert.equal(await cache.take(['a'], fast), 0);
    const [name = ''] = await admin.keys('*window*');
    assert.ok((await admin.strlen(name)) < 66 * 32);
  });

  test('reloads scripts that the server has lost', async (t) => {
    const cache = await open(t, server.url);
    await admin.flushall();
    await cache.take(['a'], rate);
    await admin.script('FLUSH');
    assert.equal(await cache.take(['a'], rate, 2), 0);
    assert.ok((await cache.take(['a'], rate)) > 0);
  });
});

describe('without Redis', () => {
  test('a killed server fails no call, and each replica counts alone', async (t) => {
    const mine = await ownServer(t);
    const logged: string[] = [];
    const a = await open(t, mine.url, { logged });
    const b = await open(t, mine.url);
    assert.equal(await a.take(['acme'], rate, 3), 0);
    assert.ok((await b.take(['acme'], rate)) > 0);
    await a.set(['acme'], 'x', 60_000);

    const working = keepWorking(t, a);
    await mine.kill();
    for (const one of [a, b]) {
      assert.equal(await one.take(['acme'], rate, 3), 0, 'a window of its own');
      assert.ok((await one.take(['acme'], rate)) > 0, 'which holds');
      assert.equal(await one.add(['spent'], 2, 60_000), 2);
      assert.equal(await one.count(['spent']), 2);
      assert.equal(await one.get(['acme']), undefined, 'a value that is gone');
    }
    await a.set(['here'], 'x', 60_000);
    assert.deepEqual([await a.get(['here']), await b.get(['here'])], ['x', undefined]);

    await mine.restart();
    await eventually(async () => (await b.get(['here'])) === 'x', 'what was set meanwhile reaches the server');
    let key = 0;
    const together = async (): Promise<number> =>
      (await a.add([`shared-${++key}`], 1, 60_000)) + (await b.add([`shared-${key}`], 1, 60_000));
    await eventually(async () => (await together()) === 3, 'they share again');
    assert.ok((await working.stop()) > 100);
    assert.equal(logged.filter((line) => line.includes('the cache server does not respond')).length, 1, logged.join(''));
  });

  test('a paused server delays calls by at most 50 ms until the breaker opens', async (t) => {
    const mine = await ownServer(t);
    await (await open(t, mine.url)).set(['a'], 'old', 60_000);
    const cache = await openCache(mine.url, { service: 'sessions', log: silentLogger() });
    t.after(() => cache.close());
    mine.pause();
    const first = await timed(() => cache.take(['a'], rate));
    assert.ok(first >= 45 && first < 5_000, `the first took ${first} ms`);
    await Promise.all(Array.from({ length: 5 }, () => cache.count(['a'])));
    const later = await timed(async () => {
      for (let n = 0; n < 100; n++) await cache.count(['a']);
    });
    assert.ok(later < 4_000, `a hundred more took ${later} ms`);

    await cache.set(['a'], 'new', 60_000);
    await cache.set(['b'], 'new', 60_000);
    await cache.delete(['b']);
    mine.goOn();
    for (let n = 0; n < 50; n++) {
      assert.deepEqual([await cache.get(['a']), await cache.get(['b'])], ['new', undefined], 'never older than what was set here');
      await delay(30);
    }
    const seen = await open(t, mine.url);
    await eventually(async () => (await seen.get(['a'])) === 'new', 'and the server hears of it');
  });

  test('opening does not wait for an unreachable or silent server', async (t) => {
    const mine = await ownServer(t);
    await mine.kill();
    const logged: string[] = [];
    const cache = await open(t, mine.url, { logged });
    assert.equal(await cache.take(['a'], rate), 0);
    assert.match(logged.join(''), /cannot connect to the cache server; using local counters/);
    await mine.restart();
    await cache.set(['a'], 'x', 60_000);
    const seen = await open(t, mine.url);
    await eventually(async () => (await cache.get(['a'])) === 'x' && (await seen.get(['a'])) === 'x', 'found when it is there');

    mine.pause();
    t.after(() => mine.goOn());
    const silent = await open(t, mine.url);
    assert.equal(await silent.take(['a'], rate), 0);
  });

  test('notes published during an outage are lost, and notes of others are read afterwards', async (t) => {
    const mine = await ownServer(t);
    const [a, b] = [await openCache(mine.url, { service: 'sessions', log: silentLogger() }), await open(t, mine.url)];
    t.after(() => a.close());
    const [boardA, boardB] = [a.board(['x'], 60_000), b.board(['x'], 60_000)];
    await boardB.exchange('before');
    mine.pause();
    const first = await timed(() => boardA.exchange());
    assert.ok(first >= 45 && first < 5_000, `the first took ${first} ms`);
    for (let n = 0; n < 5; n++) assert.deepEqual(await boardA.exchange(), []);
    const later: number[] = [];
    for (let n = 0; n < 10; n++) later.push(await timed(() => boardA.exchange('lost')));
    assert.ok(Math.min(...later) < 40, `ten more took ${later.join(', ')} ms`);
    mine.goOn();
    await eventually(async () => texts(await boardA.exchange()).includes('before'), 'read afterwards');
    assert.deepEqual(texts(await boardB.exchange()), []);
  });

  test('treats a full server like an unreachable one', async (t) => {
    const mine = await ownServer(t);
    const cache = await open(t, mine.url);
    const its = new Redis(mine.url);
    t.after(() => its.disconnect());
    await its.config('SET', 'maxmemory', '1');
    assert.equal(await cache.take(['a'], rate, 3), 0);
    assert.ok((await cache.take(['a'], rate)) > 0);
    await cache.set(['a'], 'x', 60_000);
    assert.equal(await cache.get(['a']), 'x');
  });
});

describe('credentials', () => {
  test('rejects wrong, missing and insufficient credentials without printing them', async (t) => {
    const mine = await ownServer(t, 's3cret/@');
    await (await open(t, mine.url)).set(['a'], 'x', 1_000);
    const its = new Redis(mine.url);
    t.after(() => its.disconnect());
    await its.call('ACL', 'SETUSER', 'reader', 'on', '>s3cret', '~switchyard:*', '+get');
    await its.call(
      'ACL',
      'SETUSER',
      'enough',
      'on',
      '>s3cret',
      '~switchyard:*',
      '+@read',
      '+@write',
      '+@scripting',
      '+time',
      '-@dangerous',
    );
    const at = (user: string): string => `redis://${user}127.0.0.1:${mine.port}`;
    for (const user of [':s3cret-not@', '', 'nobody:s3cret@', 'reader:s3cret@']) {
      await assert.rejects(open(t, at(user)), (error: Error & { code: string }) => {
        assert.equal(error.code, 'FAILED_PRECONDITION');
        assert.match(error.message, /^the cache server rejects the credentials/);
        return !error.message.includes('s3cret');
      });
    }
    const logged: string[] = [];
    const enough = await open(t, at('enough:s3cret@'), { logged });
    assert.equal(await enough.take(['a'], rate), 0);
    assert.deepEqual(logged, []);
  });
});

test('rejects an invalid URL without printing it', async (t) => {
  for (const url of [
    'redis://',
    'redis:pass',
    'pass',
    'redis://a:b:pass',
    'redis://u:%pass@a',
    'redis://a/pass',
    'redis://a?pass',
    'memory:pass',
  ]) {
    await assert.rejects(open(t, url), { code: 'FAILED_PRECONDITION', message: 'the cache URL must be memory: or redis://host:port' });
  }
});

interface Opening {
  service?: string;
  timeoutMs?: number;
  logged?: string[];
}

async function open(
  t: TestContext,
  url: string,
  { service = 'sessions', timeoutMs = PATIENT_MS, logged = [] }: Opening = {},
): Promise<Cache> {
  const log = createLogger({ level: 'warn', destination: { write: (line: string) => void logged.push(line) } });
  const cache = await openCache(url, { service, log, timeoutMs });
  t.after(() => cache.close());
  return cache;
}

async function ownServer(t: TestContext, password = ''): Promise<RedisServer> {
  const mine = await startRedisServer({ password });
  t.after(() => mine.stop());
  return mine;
}

/** Calls the cache continuously; no call may fail. `stop` returns the number of calls. */
function keepWorking(t: TestContext, cache: Cache): { stop: () => Promise<number> } {
  let calls = 0;
  let stopped = false;
  const work = async (): Promise<void> => {
    while (!stopped) {
      await Promise.all([cache.take(['w'], rate), cache.add(['w'], 1, 60_000), cache.set(['w'], 'x', 60_000), cache.get(['w']), delay(5)]);
      calls += 4;
    }
  };
  const working = work();
  t.after(() => void (stopped = true));
  return {
    async stop() {
      stopped = true;
      await working;
      return calls;
    },
  };
}

function texts(notes: readonly Note[]): string[] {
  return notes.map(({ text }) => text);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

async function eventually(holds: () => Promise<boolean>, description: string): Promise<void> {
  const end = Date.now() + 10_000;
  while (!(await holds())) {
    assert.ok(Date.now() < end, description);
    await delay(20);
  }
}
