import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { SERVER_FLAGS } from '@switchyard/contracts';
import { findNatsServer } from '@switchyard/testkit';
import { images } from '../../deploy/docker/images.ts';
import { writeImageArchive, type ImageConfig } from './image-archive.ts';
import { IMAGES, program, ROOT } from './paths.ts';

// Images without Docker and without a registry: the files that deploy/docker assembles, on a base of Node and its libraries.

export const PAUSE_IMAGE = 'registry.local/pause:1';
const DNS_IMAGE = 'registry.local/coredns:1';
/** Names without a host belong to this registry. */
const REGISTRY = 'docker.io';

export interface ImageNames {
  /** Tag of the images of this repository. */
  tag: string;
  /** Image of NATS, as the charts name it. */
  nats: string;
}

/** Writes the archives of the sandbox and of the DNS server, once. */
export async function systemImages(): Promise<string[]> {
  return [
    await once('pause', PAUSE_IMAGE, { entrypoint: ['/pause'] }, (folder) => copyFileSync(program('pause'), join(folder, 'pause'))),
    await once('coredns', DNS_IMAGE, { entrypoint: ['/coredns'] }, (folder) => copyFileSync(program('coredns'), join(folder, 'coredns'))),
  ];
}

/** Writes the archive of NATS with a shell, once. */
export async function natsImage({ nats }: Pick<ImageNames, 'nats'>): Promise<string> {
  const server = await findNatsServer();
  return once('nats', `${REGISTRY}/library/${nats}`, { entrypoint: ['/bin/nats-server'] }, (folder) => {
    addProgram(folder, server, 'bin/nats-server');
    addProgram(folder, '/bin/busybox', 'bin/sh');
  });
}

/** Writes the archives of the services and of the jobs from the files of this checkout. */
export async function productImages({ tag }: Pick<ImageNames, 'tag'>, onProgress: (name: string) => void): Promise<string[]> {
  const base = join(IMAGES, 'node');
  rmSync(base, { recursive: true, force: true });
  addNode(base);
  const archives: string[] = [];
  for (const name of images.keys()) {
    onProgress(name);
    const folder = join(IMAGES, name);
    rmSync(folder, { recursive: true, force: true });
    execFileSync(process.execPath, [join(ROOT, 'deploy/docker/assemble.ts'), name, join(folder, 'app')], { stdio: 'pipe' });
    const archive = `${folder}.tar`;
    await writeImageArchive(archive, `${REGISTRY}/switchyard/${name}:${tag}`, [base, folder], {
      user: '1000',
      entrypoint: ['tini', '--', 'node', ...SERVER_FLAGS],
      command: ['main.mjs'],
      directory: '/app',
    });
    rmSync(folder, { recursive: true });
    archives.push(archive);
  }
  return archives;
}

async function once(name: string, image: string, config: ImageConfig, fill: (folder: string) => void): Promise<string> {
  const archive = join(IMAGES, `${name}.tar`);
  if (existsSync(archive)) return archive;
  const folder = join(IMAGES, name);
  mkdirSync(folder, { recursive: true });
  fill(folder);
  await writeImageArchive(archive, image, [folder], config);
  rmSync(folder, { recursive: true });
  return archive;
}

function addNode(folder: string): void {
  addProgram(folder, realpathSync(process.execPath), 'usr/local/bin/node');
  addProgram(folder, '/usr/bin/tini', 'usr/bin/tini');
  mkdirSync(join(folder, 'etc'), { recursive: true });
  writeFileSync(join(folder, 'etc/passwd'), 'root:x:0:0:root:/:/sbin/nologin\nnode:x:1000:1000:node:/tmp:/sbin/nologin\n');
  writeFileSync(join(folder, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
  if (existsSync('/etc/ssl/certs/ca-certificates.crt')) {
    mkdirSync(join(folder, 'etc/ssl/certs'), { recursive: true });
    copyFileSync('/etc/ssl/certs/ca-certificates.crt', join(folder, 'etc/ssl/certs/ca-certificates.crt'));
  }
}

/** Copies a program and the libraries that it loads. */
function addProgram(folder: string, file: string, as: string): void {
  const target = join(folder, as);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(file, target);
  chmodSync(target, 0o755);
  for (const library of libraries(file)) {
    const place = join(folder, library);
    mkdirSync(dirname(place), { recursive: true });
    const real = realpathSync(library);
    copyFileSync(real, place);
    if (basename(real) !== basename(library) && !existsSync(join(dirname(place), basename(real))))
      symlinkSync(basename(library), join(dirname(place), basename(real)));
  }
}

/** Empty for a static program, for which ldd fails. */
function libraries(file: string): string[] {
  try {
    const text = execFileSync('ldd', [file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return [...text.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
  } catch {
    return [];
  }
}
