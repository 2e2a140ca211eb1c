import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { natsUsers } from '@switchyard/bus';
import { SERVICES } from '@switchyard/contracts';

// Makes every password of a deployment once, into a directory with a part for each who may read it, and prints none:
// node deploy/docker/make-keys.ts DIRECTORY. Whoever starts again finds what is there.

const [directory = ''] = process.argv.slice(2);
/** Which service keeps and serves what is too large for the bus, as docker-compose.yml has it. */
const BLOB_KEEPER = 'registry';
const BLOBS_URL = 'blobs-url';
const DONE = join(directory, 'done');

if (existsSync(DONE)) process.stdout.write(`there are keys in ${directory}\n`);
else {
  makeKeys();
  writeFileSync(DONE, '');
  process.stdout.write(`made the keys in ${directory}\n`);
}
if (!existsSync(join(directory, BLOB_KEEPER, BLOBS_URL))) makeBlobKeys();

function makeKeys(): void {
  const redis = password();
  const mongo = new Map(SERVICES.map((service) => [service, password()]));
  const nats = new Map(natsUsers().map(({ name }) => [name, password()]));

  keep('nats', 'passwords', [...nats].map(([user, word]) => `export NATS_${user.toUpperCase()}_PASSWORD=${word}\n`).join(''));
  keep('redis', 'redis.conf', `requirepass ${redis}\nsave ""\nappendonly no\n`);
  keep('mongo', 'root-password', password());
  keep('mongo', 'replica-set-key', password());
  keep('mongo', 'users.json', JSON.stringify(Object.fromEntries(mongo)));
  for (const [user, word] of nats) keep(user, 'bus-password', word);
  for (const [service, word] of mongo)
    keep(service, 'store-url', `mongodb://${service}:${word}@mongo:27017/?replicaSet=rs0&authSource=admin`);
  keep('gateway', 'cache-url', `redis://:${redis}@redis:6379`);
  keep('secrets', 'token', password());
}

/** By themselves, because there are volumes from before there were any. */
function makeBlobKeys(): void {
  const [mongo, token] = [password(), password()];
  for (const service of SERVICES) keep(service, 'blob-token', token);
  keep('mongo', 'blobs-password', mongo);
  keep(BLOB_KEEPER, BLOBS_URL, `mongodb://blobs:${mongo}@mongo:27017/?replicaSet=rs0&authSource=admin`);
}

/** Nobody but those into whose container this part is mounted comes near it. */
function keep(part: string, name: string, text: string): void {
  mkdirSync(join(directory, part), { recursive: true });
  writeFileSync(join(directory, part, name), text, { mode: 0o444 });
}

/** With a letter in front: nats-server takes what begins with a digit for a number. */
function password(): string {
  return `k${randomBytes(32).toString('hex')}`;
}
