import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const MEDIA = 'application/vnd.oci.image';
const PLATFORM = { architecture: process.arch === 'arm64' ? 'arm64' : 'amd64', os: 'linux' };

/** A reference to a file in an archive. */
interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

export interface ImageOptions {
  /** The full name, such as docker.io/switchyard/gateway:0.1.0. */
  name: string;
  layers: readonly Descriptor[];
  user?: string;
  entrypoint: readonly string[];
  command?: readonly string[];
  environment?: readonly string[];
  directory?: string;
}

/** Files of a folder, and the folder of the image that they are put into. */
export interface Selection {
  files: readonly string[];
  prefix: string;
}

/** Writes images into one archive in the layout of the Open Container Initiative. Images share their layers. */
export interface ImageArchive {
  /** Adds the files of a folder as a layer. All belong to root. */
  addLayer(folder: string, selection?: Selection): Promise<Descriptor>;
  addImage(options: ImageOptions): void;
  /** Writes the archive. */
  write(file: string): Promise<void>;
}

/** Collects images in a folder, which `write` packs. */
export function createImageArchive(folder: string): ImageArchive {
  const blobs = join(folder, 'blobs', 'sha256');
  mkdirSync(blobs, { recursive: true });
  const manifests: object[] = [];

  const addBlob = (mediaType: string, value: object): Descriptor => {
    const text = JSON.stringify(value);
    const hash = createHash('sha256').update(text).digest('hex');
    writeFileSync(join(blobs, hash), text);
    return { mediaType, digest: `sha256:${hash}`, size: Buffer.byteLength(text) };
  };

  return {
    async addLayer(source, selection) {
      const temporary = join(blobs, 'layer.tmp');
      const hash = createHash('sha256');
      const hashing = new Transform({
        transform(chunk: Buffer, _encoding, done) {
          hash.update(chunk);
          done(null, chunk);
        },
      });
      await packFolder(source, temporary, { through: hashing, ...(selection && { selection }) });
      const digest = hash.digest('hex');
      renameSync(temporary, join(blobs, digest));
      return { mediaType: `${MEDIA}.layer.v1.tar`, digest: `sha256:${digest}`, size: statSync(join(blobs, digest)).size };
    },
    addImage({ name, layers, user, entrypoint, command, environment = [], directory = '/' }) {
      const Env = ['PATH=/usr/local/bin:/usr/bin:/bin', ...environment];
      const config = { User: user, Entrypoint: entrypoint, Cmd: command, Env, WorkingDir: directory };
      // A layer is not compressed, so its digest is the digest of its files.
      const rootfs = { type: 'layers', diff_ids: layers.map(({ digest }) => digest) };
      const configuration = addBlob(`${MEDIA}.config.v1+json`, { ...PLATFORM, config, rootfs });
      const mediaType = `${MEDIA}.manifest.v1+json`;
      const manifest = addBlob(mediaType, { schemaVersion: 2, mediaType, config: configuration, layers });
      manifests.push({ ...manifest, platform: PLATFORM, annotations: { 'io.containerd.image.name': name } });
    },
    async write(file) {
      writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
      writeFileSync(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests }));
      await packFolder(folder, file);
      rmSync(folder, { recursive: true });
    },
  };
}

interface PackOptions {
  through?: Transform;
  selection?: Selection;
}

/** Packs a folder with equal times and owners, so that equal files have equal digests. */
async function packFolder(folder: string, file: string, { through, selection }: PackOptions = {}): Promise<void> {
  const fixed = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  // Only names of files are changed: targets of symbolic links are relative.
  const chosen = selection === undefined ? ['.'] : ['--null', '--files-from=-', `--transform=s,^,${selection.prefix}/,rSh`];
  const tar = spawn('tar', ['--create', ...fixed, '--directory', folder, ...chosen], { stdio: ['pipe', 'pipe', 'inherit'] });
  tar.stdin.end(selection?.files.join('\0'));
  const ended = once(tar, 'close');
  const output = createWriteStream(file);
  await (through === undefined ? pipeline(tar.stdout, output) : pipeline(tar.stdout, through, output));
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`tar could not pack ${folder}`);
}
