// alone: two replicas with two browsers use the whole machine
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import { ServiceError, type Result } from '@switchyard/contracts';
import { principal } from '@switchyard/testkit';
import { startOutside } from './browser.fixture.ts';
import { listChromium, poll, SKIP_REPLICAS, startReplicas, waitUntilGone, type Chromium } from './replicas.fixture.ts';

/** Each round kills an owner with everything that it runs, and each Chromium of the other replicas, while calls run. */
const REQUESTED_KILLS = process.env['SWITCHYARD_TEST_KILLS'];
const KILLS = Number(REQUESTED_KILLS ?? 12);
/** No round begins after this time, so that a slow machine performs fewer kills, unless their number is requested. */
const BUDGET_MS = REQUESTED_KILLS === undefined ? 70_000 : Infinity;
const TIMEOUT_MS = REQUESTED_KILLS === undefined ? 280_000 : 280_000 + KILLS * 30_000;
const SESSIONS = 8;
/** Sessions belong to four agents, so that four browsers run. */
const AGENTS = 4;
const RECOVERY_LIMIT_MS = 80_000;
const SAVE_LIMIT_MS = 30_000;
const ORPHAN_LIMIT_MS = 30_000;

/** A killed owner leaves calls whose outcome is unknown, which are not retryable in general. */
const TYPED: ReadonlySet<string> = new Set(['DEADLINE_EXCEEDED', 'UNAVAILABLE']);

const pages: Record<string, RequestListener> = {
  '/login': ({ url = '' }, response) => {
    const name = new URL(url, 'http://localhost').searchParams.get('name') ?? '';
    response.writeHead(200, { 'set-cookie': `name=${name}; Path=/`, 'content-type': 'text/html' });
    response.end(`<title>${name}</title><script>localStorage.setItem("name", ${JSON.stringify(name)})</script>`);
  },
  '/show': ({ headers }, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<script>document.title = ${JSON.stringify(headers.cookie ?? '')} + ' ' + localStorage.getItem("name")</script>`);
  },
};

/** Returns false if the process has ended since it was listed. */
function killChromium({ pid }: Chromium): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}

test('sessions stay apart and complete while owners and Chromium are killed', { timeout: TIMEOUT_MS, skip: SKIP_REPLICAS }, async (t) => {
  await using stack = new AsyncDisposableStack();
  const outside = stack.use(await startOutside(pages));
  const site = `http://127.0.0.1:${outside.port}`;
  const names = ['one', 'two'];
  const { host, replicas, start, readState } = await startReplicas(stack, names);
  const gateway = await host.connect('gateway');
  const sessions = Array.from({ length: SESSIONS }, (_, at) => {
    const caller = principal({ agent: `agent-${at % AGENTS}`, session: `s${at}` });
    return { name: `s${at}`, caller, bus: gateway.as(caller) };
  });
  type Session = (typeof sessions)[number];
  const seen = new Map<number, Chromium>();

  /** Repeats a call that fails with a typed, retryable error, because a process was killed or a busy replica lost its lease. */
  async function navigate({ bus }: Session, path: string): Promise<Result<'browser.navigate'>> {
    const attempt = (): Promise<Result<'browser.navigate'> | undefined> =>
      bus.call('browser.navigate', { url: `${site}${path}` }).catch((error: unknown) => {
        const isTyped = error instanceof ServiceError && (error.retryable || TYPED.has(error.code));
        assert.ok(isTyped, String(error));
        return undefined;
      });
    return poll(attempt, performance.now(), RECOVERY_LIMIT_MS);
  }

  async function show(session: Session): Promise<void> {
    const { title } = await navigate(session, '/show');
    assert.equal(title, `name=${session.name} ${session.name}`);
  }

  /** Lists the browsers of each replica. They are expected to be gone at the end. */
  async function listOwned(): Promise<Chromium[][]> {
    const owned = await Promise.all(replicas.map(({ pid }) => listChromium(pid)));
    for (const chromium of owned.flat()) seen.set(chromium.pid, chromium);
    return owned;
  }

  async function waitUntilAllGone(chromiums: Iterable<Chromium>): Promise<void> {
    const since = performance.now();
    await Promise.all(Array.from(chromiums, (chromium) => waitUntilGone(chromium, since, ORPHAN_LIMIT_MS)));
  }

  for (const session of sessions) await navigate(session, `/login?name=${session.name}`);
  for (const { name, caller } of sessions) {
    const isSaved = async (): Promise<true | undefined> =>
      (await readState(caller))?.origins.some(({ entries }) => entries.some(([, value]) => value === name)) === true || undefined;
    await poll(isSaved, performance.now(), SAVE_LIMIT_MS);
  }
  const startedAt = performance.now();
  let kills = 0;
  let ownerKills = 0;
  for (let round = 0; kills < KILLS && (round === 0 || performance.now() - startedAt < BUDGET_MS); round += 1) {
    const owned = await listOwned();
    const at = round % replicas.length;
    const victim = replicas[at];
    assert.ok(victim && owned.some((list) => list.length > 0));
    // These calls run while the processes are killed.
    const interrupted = sessions.map(show);
    const others = owned.filter((_, index) => index !== at).flat();
    kills += 1 + others.filter(killChromium).length;
    ownerKills += 1;
    await victim.end('SIGKILL');
    const restarted = start(names[at] ?? '').then((replica) => (replicas[at] = replica));
    await Promise.all([...interrupted, ...sessions.map(show), restarted]);
    await waitUntilAllGone(owned.flat());
  }
  const killMs = performance.now() - startedAt;
  await listOwned();
  await Promise.all(replicas.map((replica) => replica.end()));
  await waitUntilAllGone(seen.values());
  const summary = `${kills} kills, ${ownerKills} of them of an owner, under ${SESSIONS} sessions in ${Math.round(killMs / 1_000)} s`;
  t.diagnostic(`${summary}; ${seen.size} browsers left nothing`);
});
