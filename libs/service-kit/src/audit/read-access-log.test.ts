import assert from 'node:assert/strict';
import { test } from 'node:test';
import { servicePrincipal, ServiceError, type AuditLook } from '@switchyard/contracts';
import { createLooks, type Looks } from './read-access-log.ts';

const ops = { ...servicePrincipal('gateway'), client: 'ops' };
const SEEN = { method: 'agents.list', target: {}, outcome: 'success' as const };

/** A read access log with a fake audit service; returns the received calls and the warnings. */
function noting(answer: (call: number) => void = () => undefined) {
  const calls: AuditLook[][] = [];
  const warned: object[] = [];
  const call = async (_name: string, { looks }: { looks: AuditLook[] }) => {
    calls.push(looks);
    answer(calls.length);
    return { recorded: true };
  };
  const bus = { as: () => ({ call }) } as unknown as Parameters<typeof createLooks>[0]['bus'];
  const log = { warn: (fields: object) => void warned.push(fields), debug: () => undefined };
  const looks = createLooks({ bus, service: 'registry', replica: 'r', log: log as never });
  return { looks, calls, warned };
}

function look(looks: Looks, seen: Partial<typeof SEEN> & { target?: Record<string, string> } = {}): void {
  looks.note({ principal: ops, requestId: 'req_1' }, { ...SEEN, ...seen });
}

const getCounts = (calls: AuditLook[][]): number[][] => calls.map((looks) => looks.map(({ count }) => count));

test('resends failed records unchanged under their ids, separate from newer ones', async () => {
  const { looks, calls, warned } = noting((call) => {
    if (call === 1) throw new ServiceError('UNAVAILABLE', 'the record is away');
  });
  look(looks);
  look(looks);
  await looks.tell();
  look(looks);
  await looks.tell();
  assert.deepEqual(getCounts(calls), [[2], [2, 1]]);
  assert.equal(calls[1]?.[0]?.id, calls[0]?.[0]?.id);
  assert.notEqual(calls[1]?.[1]?.id, calls[0]?.[0]?.id);
  await looks[Symbol.asyncDispose]();
  assert.deepEqual([calls.length, warned], [2, []], 'once it is told, it is not told again');
});

test('sends the first access at once and repeated ones every ten minutes, and drops targets above the limit', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { looks, calls, warned } = noting();
  const second = async (): Promise<void> => {
    t.mock.timers.tick(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  };
  look(looks);
  await second();
  for (let n = 0; n < 5; n++) look(looks);
  await second();
  assert.deepEqual(getCounts(calls), [[1]], 'the five wait');
  for (let n = 0; n < 1_100; n++) look(looks, { target: { id: String(n) } });
  await second();
  assert.deepEqual([calls.flat().length, warned], [1 + 999, []]);
  for (let n = 0; n < 1_100; n++) look(looks, { method: `method.${n}` });
  await second();
  assert.deepEqual([calls.flat().length, warned], [2_000, [{ lost: 100, most: 2_000 }]], 'without end it does not grow');
  await looks[Symbol.asyncDispose]();
  assert.deepEqual(
    calls
      .flat()
      .slice(2_000)
      .map(({ method, target, count }) => [method, target, count]),
    [[SEEN.method, {}, 5 + 101]],
  );
});

test('logs unsent accesses as lost when the process ends', async () => {
  const { looks, warned } = noting(() => {
    throw new ServiceError('UNAVAILABLE', 'the record is away');
  });
  look(looks);
  look(looks);
  await looks[Symbol.asyncDispose]();
  assert.deepEqual(warned, [{ calls: 2 }]);
});
