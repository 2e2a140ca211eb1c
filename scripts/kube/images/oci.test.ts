import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createImageArchive } from './oci.ts';

interface Descriptor {
  digest: string;
  annotations?: Record<string, string>;
}

let folder: string;
before(() => void (folder = mkdtempSync(join(tmpdir(), 'oci-'))));
after(() => rmSync(folder, { recursive: true }));

async function writeArchive(name: string): Promise<Buffer> {
  const files = join(folder, `${name}-files`);
  mkdirSync(files);
  writeFileSync(join(files, 'hello'), 'world');
  const archive = createImageArchive(join(folder, `${name}-archive`));
  const layer = await archive.addLayer(files);
  archive.addImage({ name: 'docker.io/library/one:1', layers: [layer], entrypoint: ['/hello'], user: '1000' });
  archive.addImage({ name: 'docker.io/library/two:1', layers: [layer], entrypoint: ['/hello'] });
  await archive.write(join(folder, `${name}.tar`));
  return readFileSync(join(folder, `${name}.tar`));
}

test('equal files give equal archives', async () => {
  assert.deepEqual(await writeArchive('first'), await writeArchive('second'));
});

test('an archive names its images, and every blob has the digest of its content', async () => {
  await writeArchive('third');
  const out = join(folder, 'out');
  mkdirSync(out);
  execFileSync('tar', ['--extract', '--file', join(folder, 'third.tar'), '--directory', out]);
  const read = (digest: string): Buffer => {
    const bytes = readFileSync(join(out, 'blobs', digest.replace(':', '/')));
    assert.equal(`sha256:${createHash('sha256').update(bytes).digest('hex')}`, digest);
    return bytes;
  };
  const { manifests } = JSON.parse(readFileSync(join(out, 'index.json'), 'utf8')) as { manifests: Descriptor[] };
  assert.deepEqual(
    manifests.map(({ annotations }) => annotations?.['io.containerd.image.name']),
    ['docker.io/library/one:1', 'docker.io/library/two:1'],
  );
  const [first] = manifests.map(({ digest }) => JSON.parse(read(digest).toString()) as { config: Descriptor; layers: Descriptor[] });
  const config = JSON.parse(read(first?.config.digest ?? '').toString()) as { rootfs: { diff_ids: string[] }; config: { User: string } };
  assert.equal(config.config.User, '1000');
  assert.deepEqual(
    config.rootfs.diff_ids,
    first?.layers.map(({ digest }) => digest),
  );
  read(first?.layers[0]?.digest ?? '');
});

test('selected files of a folder lie below the prefix, and links keep their targets', async () => {
  const files = join(folder, 'selected');
  mkdirSync(files);
  writeFileSync(join(files, 'wanted'), '');
  writeFileSync(join(files, 'unwanted'), '');
  symlinkSync('wanted', join(files, 'link'));
  const work = join(folder, 'selected-archive');
  const { digest } = await createImageArchive(work).addLayer(files, { files: ['wanted', 'link'], prefix: 'app' });
  const listing = execFileSync('tar', ['--list', '--verbose', '--file', join(work, 'blobs', digest.replace(':', '/'))], {
    encoding: 'utf8',
  });
  const names = listing
    .trim()
    .split('\n')
    .map((line) => line.replace(/^.*\d\d:\d\d /, ''));
  assert.deepEqual(names, ['app/wanted', 'app/link -> wanted']);
});
