import { after } from 'node:test';
import { join } from 'node:path';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';
import { blobContract } from '../contract/blob.contract.ts';
import { openBlobStore } from '../open-blob-store.ts';
import { overGrpc } from './grpc-store.fixture.ts';

const directory = await tempDir();
after(() => directory[Symbol.asyncDispose]());

blobContract('in files of another process', ({ place, ...options }) =>
  overGrpc(() => openBlobStore(`file:${join(directory.path, place)}`, { log: silentLogger(), ...options })),
);
