import { after, before } from 'node:test';
import { openStore } from '@switchyard/store';
import { startMongo, type MongoServer } from '@switchyard/testkit';
import { workContract } from './work.contract.ts';

let server: MongoServer;
before(async () => {
  server = await startMongo();
});
after(() => server.stop());

workContract('MongoDB', (database) => openStore(server.url, { service: database, strict: true }));
