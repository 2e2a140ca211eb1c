import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { principal } from '@switchyard/testkit';
import { startOutside } from './browser.fixture.ts';
import { exists, findChromium, poll, SKIP_REPLICAS, startReplicas, type Chromium } from './replicas.fixture.ts';

/** Kills of each kind: of an owner with everything that it runs, and of a Chromium. */
const KILLS = Number(process.env['SWITCHYARD_TEST_KILLS'] ?? 3);
const SESSIONS = 8;
/** Sessions belong to two agents, so that two browsers run. */
const AGENTS = 2;
const RECOVERY_MS = 25_000;
const ORPHAN_MS = 10_000;

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

test('sessions stay apart and complete while owners and Chromium are killed', { timeout: 118_000, skip: SKIP_REPLICAS }, async (t) => {
  await using stack = new AsyncDisposableStack();
  const outside = stack.use(await startOutside(pages));
  const site = `http://127.0.0.1:${outside.port}`;
  const { host, replicas, start } = await startReplicas(stack, ['one', 'two']);
  const gateway = await host.connect('gateway');
  const sessions = Array.from({ length: SESSIONS }, (_, at) => ({
    name: `s${at}`,
    bus: gateway.as(principal({ agent: `agent-${at % AGENTS}`, session: `s${at}` })),
  }));
  const seen: Chromium[] = [];

  async function show({ name, bus }: (typeof sessions)[number]): Promise<void> {
    const shown = await poll(
      async () => {
        try {
          const shown = await bus.call('browser.navigate', { url: `${site}/show` });
          // The title of a page that Chromium is still loading.
          return shown.title.startsWith('Loading ') ? undefined : shown;
        } catch (error) {
          // A killed process fails the running call, and the next one may meet the takeover.
          assert.ok(
            error instanceof ServiceError && (error.retryable || error.code === 'DEADLINE_EXCEEDED' || error.code === 'UNAVAILABLE'),
            String(error),
          );
          return undefined;
        }
      },
      performance.now(),
      RECOVERY_MS,
    );
    assert.equal(shown.title, `name=${name} ${name}`);
  }

  for (const { name, bus } of sessions) await bus.call('browser.navigate', { url: `${site}/login?name=${name}` });
  await Promise.all(sessions.map(show));
  for (let kill = 0; kill < KILLS * 2; kill++) {
    // Every save is at most 5 s old, and nothing changes after the first.
    const owned = await Promise.all(replicas.map(({ pid }) => findChromium(pid)));
    seen.push(...owned.filter((chromium) => chromium !== undefined));
    const at = owned.findIndex((chromium) => chromium !== undefined);
    const [victim, chromium] = [replicas[at], owned[at]];
    assert.ok(victim && chromium);
    if (kill % 2 === 0) {
      await victim.end('SIGKILL');
      replicas[at] = await start(at === 0 ? 'one' : 'two');
    } else process.kill(chromium.pid, 'SIGKILL');
    await Promise.all(sessions.map(show));
  }
  for (const { bus } of sessions) await bus.call('browser.stop', {});
  const endedAt = performance.now();
  for (const { pid, profile } of seen) {
    await poll(async () => (!(await exists(`/proc/${pid}`)) && !(await exists(profile)) ? true : undefined), endedAt, ORPHAN_MS);
  }
  t.diagnostic(`${KILLS} owners and ${KILLS} Chromium were killed under ${SESSIONS} sessions; ${seen.length} browsers left nothing`);
});
