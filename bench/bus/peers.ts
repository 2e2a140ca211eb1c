import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installOutside } from '../install-outside.ts';
import { root } from '../subject.ts';

const DIRECTORY = join(root, '.tools/bus-peers');
const DEPENDENCIES = {
  moleculer: '0.15.2',
  '@nestjs/common': '12.1.1',
  '@nestjs/core': '12.1.1',
  '@nestjs/microservices': '12.1.1',
  nats: '2.29.3',
  'reflect-metadata': '0.2.2',
  rxjs: '7.8.2',
};

/** Installs the other frameworks that call services over NATS, on first use. */
export async function installPeers(): Promise<void> {
  await installOutside('bus-peers', { dependencies: DEPENDENCIES });
}

/** Loads one of them without types. */
export function requirePeer(name: keyof typeof DEPENDENCIES): unknown {
  return createRequire(join(DIRECTORY, 'package.json'))(name);
}
