import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal, resolveSecrets } from '@switchyard/testkit';
import { ServiceError } from '@switchyard/contracts';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';
import { createTypedSecrets } from './sessions/typed-secrets.ts';

const VALUE = 'correct horse/battery';
const PAGE = `<title>Login</title><form><input aria-label="User" name="user"></form>
  <iframe src="http://other.example/frame"></iframe>
  <script>document.querySelector('input').addEventListener('input', (event) => {
    document.title = event.target.value; console.log('typed ' + event.target.value); });</script>`;

test('masks every form of a value', () => {
  const secrets = createTypedSecrets();
  assert.deepEqual(secrets.mask({ text: VALUE }), { text: VALUE });
  secrets.add('SITE_PASSWORD', VALUE);
  const forms = [VALUE, encodeURIComponent(VALUE), encodeURIComponent(VALUE).replaceAll('%20', '+')];
  assert.deepEqual(secrets.mask({ list: forms, number: 1 }), { list: forms.map(() => '[secret SITE_PASSWORD]'), number: 1 });
  assert.deepEqual([secrets.isIn(`a ${VALUE}`), secrets.isIn('a')], [true, false]);
});

test('types a secret by reference into the bound origin only, and shows it nowhere', TIMEOUT, async () => {
  await using _outside = await startOutside({ '/': PAGE, '/frame': '<input aria-label="Stolen">' });
  const origins: (string | undefined)[] = [];
  await using app = await testBrowser({
    secrets: {
      'secrets.resolve': async (params, ctx) => {
        origins.push(params.origin);
        assert.equal(params.purpose, 'browser');
        if (params.origin !== 'http://site.example') throw new ServiceError('PERMISSION_DENIED', 'not bound');
        const { value } = (await resolveSecrets({ SITE_PASSWORD: VALUE })(params, ctx)) as { value: string | null };
        return { value };
      },
    },
  });
  await app.bus.call('browser.navigate', { url: 'http://site.example/' });
  const { refs } = await app.bus.call('browser.snapshot', {});
  const find = (name: string): string => Object.keys(refs).find((ref) => refs[ref]?.name === name) ?? assert.fail(name);
  const type = (selector: string) => app.bus.call('browser.act', { action: 'type', selector, secret: 'SITE_PASSWORD' });
  assert.equal((await type(find('User'))).ok, true);
  await assert.rejects(type(find('Stolen')), { code: 'PERMISSION_DENIED' });
  assert.deepEqual(origins, ['http://site.example', 'http://other.example']);
  for (const caller of [principal({ tenant: 'elsewhere' }), principal({ scopes: ['rpc'] })]) {
    const bus = app.bus.as(caller);
    await bus.call('browser.navigate', { url: 'http://site.example/' });
    const typing = bus.call('browser.act', { action: 'type', selector: 'input', secret: 'SITE_PASSWORD' });
    await assert.rejects(typing, { code: 'PERMISSION_DENIED', message: /installation tenant/ });
  }
  assert.equal(origins.length, 2);
  const shown = JSON.stringify([
    await app.bus.call('browser.snapshot', {}),
    await app.bus.call('browser.console', {}),
    await app.bus.call('browser.tabs', {}),
  ]);
  assert.match(shown, /\[secret SITE_PASSWORD\]/);
  assert.doesNotMatch(shown, /correct horse/);
  await assert.rejects(app.bus.call('browser.act', { action: 'type', selector: 'input', text: 'a', secret: 'SITE_PASSWORD' }), {
    code: 'INVALID_ARGUMENT',
    message: /either text or secret/,
  });
});
