import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Ctx } from '@switchyard/bus';
import { systemClock } from '@switchyard/service-kit';
import { openStore } from '@switchyard/store';
import { principal, tempDir } from '@switchyard/testkit';
import type { CommandRequest } from '../../commands/command-context.ts';
import { answers } from '../../commands/command-handlers.ts';
import { fill, KEY } from '../../event-loop.fixture.ts';
import { sessionCollection } from '../../model/session-document.ts';
import { bodyCollection } from '../../model/text-document.ts';
import { turnCollection } from '../../model/turn-document.ts';
import { CONVERSATION_BYTES, createLoadBudget } from '../../sessions/load-budget.ts';
import type { HistoryDeps } from '../../sessions/session-directory.ts';
import type { ResetSession } from '../../sessions/session-reset.ts';
import { sessionDelete } from './session-delete.ts';
import { sessionExport } from './session-export.ts';
import { sessionHistory } from './session-history.ts';

const caller = principal();
const { signal } = new AbortController();
const ctx = { principal: caller, signal } as Ctx;

/** Opens a session of three turns. `reads` counts the accesses to its texts. */
async function openSession(path: string) {
  await fill(path, { turns: 3, characters: 700 });
  const store = await openStore(`sqlite:${join(path, 'store')}`, { service: 'sessions' });
  const data = await store.open({ sessions: sessionCollection, turns: turnCollection, bodies: bodyCollection });
  const session = (await data.sessions.for(caller).get(KEY)) ?? assert.fail();
  const reads: string[] = [];
  const bodies: HistoryDeps['bodies'] = {
    ...data.bodies,
    for(owner) {
      reads.push(owner.tenant);
      return data.bodies.for(owner);
    },
  };
  const deps = { ...data, bodies, clock: systemClock, store, bus: { maxPayload: 1_048_576 } };
  return { deps, session, reads, [Symbol.asyncDispose]: () => store.close() };
}

type Opened = Awaited<ReturnType<typeof openSession>>;
type Loading = (opened: Opened, loads: ReturnType<typeof createLoadBudget>) => Promise<unknown>;

const readers: Readonly<Record<string, Loading>> = {
  'session.history': async ({ deps }, loads) => sessionHistory({ ...deps, loads })({ session_key: KEY }, ctx),
  'session.export': async ({ deps }, loads) => sessionExport({ ...deps, loads })({ session_key: KEY }, ctx),
  async 'session.delete'({ deps, session }, loads) {
    const emptying: ResetSession = async (_principal, _key, work) => (await work(session, { key: KEY } as never)).result;
    return sessionDelete({ ...deps, loads, emptying })({ session_key: KEY }, ctx);
  },
  async '/export'({ deps, session }, loads) {
    const options = { hold: { tenant: caller.tenant, session }, signal };
    return answers.export({ deps: { ...deps, loads }, options, args: '' } as unknown as CommandRequest);
  },
};

for (const [name, load] of Object.entries(readers))
  test(`${name} waits for the load budget of its client before it reads a text`, async () => {
    await using data = await tempDir();
    await using opened = await openSession(data.path);
    const loads = createLoadBudget();
    const other = await loads.take({ tenant: caller.tenant, client: opened.session.userId }, CONVERSATION_BYTES, signal);
    const loading = load(opened, loads);
    await opened.deps.sessions.for(caller).get(KEY);
    await new Promise(setImmediate);
    assert.deepEqual(opened.reads, []);
    other[Symbol.dispose]();
    await loading;
    assert.ok(opened.reads.length > 0);
    (await loads.take({ tenant: caller.tenant, client: opened.session.userId }, CONVERSATION_BYTES, signal))[Symbol.dispose]();
  });
