import { after, before } from 'node:test';
import { silentLogger } from '@switchyard/telemetry';
import { startMongo, type MongoServer } from '@switchyard/testkit';
import { blobContract } from '../contract/blob.contract.ts';
import type { OpenOptions } from '../contract/fixture.contract.ts';
import { openOverGrpc } from '../grpc/grpc-store.fixture.ts';
import { openBlobStore } from '../open-blob-store.ts';

let server: MongoServer;
before(async () => {
  server = await startMongo();
});
after(() => server.stop());

/** Each location is a separate database. */
function open({ location, ...options }: OpenOptions) {
  const url = new URL(server.url);
  url.pathname = `/${location.replaceAll(/[^A-Za-z0-9]/g, '-')}`.slice(0, 30);
  return openBlobStore(url.href, { log: silentLogger(), ...options });
}

blobContract('on GridFS', open);
blobContract('on GridFS over gRPC', (options) => openOverGrpc(() => open(options)));
