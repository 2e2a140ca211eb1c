import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import type { Result } from '@switchyard/contracts';
import type { Host } from '@switchyard/service-kit';
import { principal } from '@switchyard/testkit';
import { startOutside } from './browser.fixture.ts';
import { stateCollection } from './ownership/stored-state.ts';
import { exists, findChromium, poll, SKIP_REPLICAS, startReplicas } from './replicas.fixture.ts';

const SKIP = { timeout: 120_000, skip: SKIP_REPLICAS };
const TAKEOVER_MS = 10_000;

const pages: Record<string, RequestListener> = {
  '/login': (_, response) => {
    response.writeHead(200, { 'set-cookie': 'session=of-the-visitor; Path=/; HttpOnly', 'content-type': 'text/html' });
    response.end(
      '<title>In</title><button>Ok</button><script>localStorage.setItem("theme", "dark"); sessionStorage.setItem("step", "two")</script>',
    );
  },
  '/show': ({ headers }, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(
      `<p>${headers.cookie}</p><script>document.title = [localStorage.getItem("theme"), sessionStorage.getItem("step")]</script>`,
    );
  },
};

/** Resolves when the state of a session was written again since `before`. */
async function waitForSave(host: Host, since: number): Promise<string> {
  const store = await host.store('browser');
  const { states } = await store.open({ states: stateCollection });
  const sealed = await poll(
    async () => (await states.for(principal()).find({})).items.find(({ savedAt }) => savedAt > since)?.sealed,
    performance.now(),
    6_000,
  );
  await store.close();
  return sealed;
}

test('another replica continues the session of a killed owner within 10 seconds', SKIP, async (t) => {
  await using stack = new AsyncDisposableStack();
  const outside = stack.use(await startOutside(pages));
  const site = `http://127.0.0.1:${outside.port}`;
  const { host, replicas } = await startReplicas(stack, ['one', 'two']);
  const bus = (await host.connect('gateway')).as(principal());
  const savedFrom = Date.now();
  const first = await bus.call('browser.navigate', { url: `${site}/login` });
  await bus.call('browser.open', { url: `${site}/show` });
  await bus.call('browser.focus', { tabId: first.tabId });
  const { refs } = await bus.call('browser.snapshot', {});
  const [ref = assert.fail('the button has a reference')] = Object.keys(refs);
  const { tabs } = await bus.call('browser.tabs', {});
  // Both replicas answer calls, and the one without the browser forwards them.
  const answers = await Promise.all(Array.from({ length: 20 }, () => bus.call('browser.tabs', {})));
  for (const answer of answers) assert.deepEqual(answer, { tabs });
  const sealed = await waitForSave(host, savedFrom);
  assert.doesNotMatch(sealed, /of-the-visitor/);

  const owners = await Promise.all(replicas.map(async (replica) => ({ replica, chromium: await findChromium(replica.pid) })));
  const [owner, ...more] = owners.filter(({ chromium }) => chromium !== undefined);
  assert.ok(owner?.chromium);
  assert.deepEqual(more, [], 'one replica has the browser');
  await owner.replica.end('SIGKILL');
  const killedAt = performance.now();
  const orphanGone = poll(
    async () => (!(await exists(`/proc/${owner.chromium?.pid}`)) && !(await exists(owner.chromium?.profile ?? '')) && true) || undefined,
    killedAt,
    TAKEOVER_MS,
  );
  const status = await poll(
    () =>
      bus
        .call('browser.status', {})
        .catch((): Result<'browser.status'> | undefined => undefined)
        .then((now) => (now?.running === true ? now : undefined)),
    killedAt,
    TAKEOVER_MS,
  );
  t.diagnostic(`continued after ${Math.round(performance.now() - killedAt)} ms`);
  await orphanGone;
  assert.deepEqual(status.notRestored, ['forms', 'history']);
  const stale = await bus.call('browser.act', { action: 'click', selector: ref });
  assert.match(stale.error ?? '', /take a new snapshot/);
  const restored = await poll(
    async () => {
      const { tabs: now } = await bus.call('browser.tabs', {});
      return now.every(({ title }) => title !== '') ? now : undefined;
    },
    performance.now(),
    TAKEOVER_MS,
  );
  assert.deepEqual(
    restored.map(({ id, url }) => ({ id, url })),
    tabs.map(({ id, url }) => ({ id, url })),
  );
  const shown = await bus.call('browser.navigate', { url: `${site}/show` });
  assert.deepEqual([shown.tabId, shown.title], [first.tabId, 'dark,two']);
  const after = await bus.call('browser.snapshot', {});
  assert.match(after.snapshot, /session=of-the-visitor/);
  assert.equal(Object.keys(after.refs).includes(ref), false);
  assert.equal((await bus.call('browser.open', {})).tabId, 'tab_3');
});
