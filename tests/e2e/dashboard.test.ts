import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { sendRequest } from './exchange.ts';
import { onEachProfile } from './profiles.ts';

onEachProfile(
  'the directory of the dashboard',
  (product) => {
    const getStatus = async (path: string): Promise<number> => (await fetch(`${product.url}/app/${path}`)).status;

    test('serves its files, and nothing that a link leads to', async () => {
      assert.deepEqual(await Promise.all(['', 'main.js', 'passwd.txt', 'etc/passwd.txt'].map(getStatus)), [200, 200, 404, 404]);
    });

    test('cannot be changed over the API', async () => {
      for (const params of [
        { section: 'gateway', key: 'web.path', value: '/usr' },
        { section: 'gateway', key: 'web', value: { path: '/usr' } },
      ]) {
        const { error } = await sendRequest(product, 'config.set', params);
        assert.match(error?.message ?? '', /^gateway\.web\.path cannot be changed/, JSON.stringify(error));
      }
      assert.equal(await getStatus('main.js'), 200);
    });
  },
  {
    async start(stack) {
      const { path } = stack.use(await tempDir());
      const [root, outside] = [join(path, 'root'), join(path, 'outside')];
      await mkdir(root);
      await mkdir(outside);
      await writeFile(join(outside, 'passwd.txt'), 'not to be had');
      await writeFile(join(root, 'index.html'), '<!doctype html>');
      await writeFile(join(root, 'main.js'), 'export {};');
      await symlink(join(outside, 'passwd.txt'), join(root, 'passwd.txt'));
      await symlink(outside, join(root, 'etc'));
      return { config: { gateway: { web: { enabled: true, path: root } } } };
    },
  },
);
