import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { natsUsers } from '@switchyard/bus';
import { SERVICES } from '@switchyard/contracts';

// Generates the passwords of a deployment: node deploy/docker/make-keys.ts DIRECTORY. The directory has one folder per reader. Existing
// passwords are kept, and none is printed.

const [directory = ''] = process.argv.slice(2);
/** The service that stores and serves large payloads, as in docker-compose.yml. */
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

/** Written separately, because older volumes do not have them. */
function makeBlobKeys(): void {
  const [mongo, token] = [password(), password()];
  for (const service of SERVICES) keep(service, 'blob-token', token);
  keep('mongo', 'blobs-password', mongo);
  keep(BLOB_KEEPER, BLOBS_URL, `mongodb://blobs:${mongo}@mongo:27017/?replicaSet=rs0&authSource=admin`);
}

/** Readable for everybody: only containers that mount the folder can access it. */
function keep(part: string, name: string, text: string): void {
  mkdirSync(join(directory, part), { recursive: true });
  writeFileSync(join(directory, part, name), text, { mode: 0o444 });
}

/** Begins with a letter, because nats-server parses a value that begins with a digit as a number. */
function password(): string {
  return `k${randomBytes(32).toString('hex')}`;
}
