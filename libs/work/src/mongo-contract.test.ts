import { after, before } from 'node:test';
import { openStore } from '@switchyard/store';
import { startMongo, type MongoServer } from '@switchyard/testkit';
import { roomsContract } from './rooms.contract.ts';
import { runHereContract } from './run-here.contract.ts';
import { workContract } from './work.contract.ts';
import type { OpenStore } from './work.fixture.ts';

let server: MongoServer;
before(async () => {
  server = await startMongo();
});
after(() => server.stop());

const open: OpenStore = (database) => openStore(server.url, { service: database, strict: true });
workContract('MongoDB', open);
runHereContract('MongoDB', open);
roomsContract('MongoDB', open);
