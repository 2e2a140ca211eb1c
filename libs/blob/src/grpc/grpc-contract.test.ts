import { after } from 'node:test';
import { join } from 'node:path';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';
import { blobContract } from '../contract/blob.contract.ts';
import { openBlobStore } from '../open-blob-store.ts';
import { openOverGrpc } from './grpc-store.fixture.ts';

const directory = await tempDir();
after(() => directory[Symbol.asyncDispose]());

blobContract('on files over gRPC', ({ location, ...options }) =>
  openOverGrpc(() => openBlobStore(`file:${join(directory.path, location)}`, { log: silentLogger(), ...options })),
);
