import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CHARTS, createNamespace, FEW_SERVICES, NO_PODS, says, setValues, WAIT, type Namespace } from './cluster.ts';

/** Creates a user namespace, as the sandbox of Chromium does. The images have a busybox in a test cluster. */
const CREATE_NAMESPACE = ['busybox', 'unshare', '--user', 'busybox', 'true'];
const VALUES = { 'global.services.browser': true, 'browser.seccomp.localhostProfile': 'switchyard/chromium.json' };

describe('the seccomp profile of Chromium', { skip: NO_PODS, timeout: 900_000 }, () => {
  let namespace: Namespace;
  before(async () => {
    namespace = await createNamespace('browser');
    await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`, ...FEW_SERVICES, ...setValues(VALUES), ...WAIT);
  });
  after(() => namespace[Symbol.asyncDispose]());

  test('permits user namespaces in the pod of the browser service, and in no other one', async () => {
    await run('browser');
    await assert.rejects(run('sessions'), says('Operation not permitted'));
  });

  async function run(component: string): Promise<void> {
    const [pod] = await namespace.pods(component);
    await namespace.kubectl('exec', pod?.name ?? '', '--', ...CREATE_NAMESPACE);
  }
});
