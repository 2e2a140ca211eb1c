import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
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

/** Frameworks that call services over NATS too, as npm has them, outside of our own packages; installed when they are first measured. */
export async function installPeers(): Promise<void> {
  if (existsSync(join(DIRECTORY, 'node_modules/moleculer'))) return;
  await mkdir(DIRECTORY, { recursive: true });
  await writeFile(join(DIRECTORY, 'package.json'), JSON.stringify({ private: true, dependencies: DEPENDENCIES }));
  await promisify(execFile)('npm', ['install', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund'], { cwd: DIRECTORY });
}

/** One of them, as it is used without its types. */
export function requirePeer(name: keyof typeof DEPENDENCIES): unknown {
  return createRequire(join(DIRECTORY, 'package.json'))(name);
}
