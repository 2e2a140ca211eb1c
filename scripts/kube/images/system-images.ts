import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findNatsServer } from '@switchyard/testkit';
import { parse } from 'yaml';
import { fileURLToPath } from 'node:url';
import { program } from '../paths.ts';
import { copyInto, copyProgram, writeShell } from './base.ts';
import type { ImageArchive } from './oci.ts';

/** The image of a pod's sandbox. */
export const PAUSE_IMAGE = 'docker.io/library/pause:1';
export const DNS_IMAGE = 'docker.io/library/coredns:1';
const PLATFORM_VALUES = fileURLToPath(new URL('../../../deploy/helm/switchyard-platform/values.yaml', import.meta.url));

/** Adds the images that no service is: the sandbox, DNS, and NATS under the name that the chart uses. */
export async function addSystemImages(archive: ImageArchive, work: string): Promise<void> {
  const pause = prepare(work, 'pause');
  copyInto(pause, '/usr/bin/tini-static', '/tini');
  copyInto(pause, '/bin/busybox', '/bin/busybox');
  archive.addImage({
    name: PAUSE_IMAGE,
    layers: [await archive.addLayer(pause)],
    // tini ends at once when it is asked to, and sleep would not.
    entrypoint: ['/tini', '--', '/bin/busybox', 'sleep', '2147483647'],
  });

  const dns = prepare(work, 'coredns');
  copyInto(dns, program('coredns'), '/coredns');
  archive.addImage({ name: DNS_IMAGE, layers: [await archive.addLayer(dns)], entrypoint: ['/coredns'] });

  const nats = prepare(work, 'nats');
  writeShell(nats);
  copyProgram(nats, await findNatsServer(), '/usr/local/bin/nats-server');
  const { nats: values } = parse(readFileSync(PLATFORM_VALUES, 'utf8')) as { nats: { image: string } };
  archive.addImage({
    name: `docker.io/library/${values.image}`,
    // As the published image, it names no user.
    layers: [await archive.addLayer(nats)],
    entrypoint: ['nats-server'],
  });
}

function prepare(work: string, name: string): string {
  const folder = join(work, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}
