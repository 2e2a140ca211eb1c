import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { createReadStream, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** What a container of an image runs. */
export interface ImageConfig {
  user?: string;
  entrypoint: readonly string[];
  command?: readonly string[];
  environment?: Readonly<Record<string, string>>;
  directory?: string;
}

interface Blob {
  digest: string;
  size: number;
}

/** Writes an OCI image archive with one layer per folder, for `ctr images import`. Source: OCI image layout 1.1. */
export async function writeImageArchive(file: string, name: string, folders: readonly string[], config: ImageConfig): Promise<void> {
  const layout = `${file}.layout`;
  rmSync(layout, { recursive: true, force: true });
  mkdirSync(join(layout, 'blobs/sha256'), { recursive: true });
  const layers: Blob[] = [];
  for (const folder of folders) layers.push(await addLayer(layout, folder));
  const { user = '', entrypoint, command = [], environment = {}, directory = '/' } = config;
  const image = addJson(layout, {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
    config: {
      User: user,
      Entrypoint: entrypoint,
      Cmd: command,
      Env: Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', ...environment }).map(([key, value]) => `${key}=${value}`),
      WorkingDir: directory,
    },
  });
  const manifest = addJson(layout, {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...image },
    layers: layers.map((layer) => ({ mediaType: 'application/vnd.oci.image.layer.v1.tar', ...layer })),
  });
  const annotations = { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': name };
  writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  writeFileSync(
    join(layout, 'index.json'),
    JSON.stringify({ schemaVersion: 2, manifests: [{ mediaType: MANIFEST, ...manifest, annotations }] }),
  );
  archive(layout, file);
  rmSync(layout, { recursive: true });
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

async function addLayer(layout: string, folder: string): Promise<Blob> {
  const path = join(layout, 'layer.tar');
  archive(folder, path);
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  const digest = hash.digest('hex');
  const { size } = statSync(path);
  renameSync(path, join(layout, 'blobs/sha256', digest));
  return { digest: `sha256:${digest}`, size };
}

function addJson(layout: string, value: object): Blob {
  const text = JSON.stringify(value);
  const digest = createHash('sha256').update(text).digest('hex');
  writeFileSync(join(layout, 'blobs/sha256', digest), text);
  return { digest: `sha256:${digest}`, size: Buffer.byteLength(text) };
}

/** The same files give the same bytes. */
function archive(folder: string, file: string): void {
  execFileSync('tar', ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '-cf', file, '-C', folder, '.'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}
