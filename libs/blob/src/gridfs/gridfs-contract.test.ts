import { after, before } from 'node:test';
import { silentLogger } from '@switchyard/telemetry';
import { startMongo, type MongoServer } from '@switchyard/testkit';
import { blobContract } from '../contract/blob.contract.ts';
import type { OpenOptions } from '../contract/fixture.contract.ts';
import { overGrpc } from '../grpc/grpc-store.fixture.ts';
import { openBlobStore } from '../open-blob-store.ts';

let server: MongoServer;
before(async () => {
  server = await startMongo();
});
after(() => server.stop());

/** A place is a database of its own. */
function open({ place, ...options }: OpenOptions) {
  const url = new URL(server.url);
  url.pathname = `/${place.replaceAll(/[^A-Za-z0-9]/g, '-')}`.slice(0, 30);
  return openBlobStore(url.href, { log: silentLogger(), ...options });
}

blobContract('in GridFS', open);
blobContract('in GridFS of another process', (options) => overGrpc(() => open(options)));
