import { after, before } from 'node:test';
import { startMongo, type MongoServer } from '@switchyard/testkit';
import { openStore } from '../index.ts';
import { storeContract } from '../contract/store.contract.ts';

let server: MongoServer;
before(async () => {
  server = await startMongo();
});
after(() => server.stop());

storeContract('MongoDB', (database) => openStore(server.url, { service: `c${database}`, strict: true }));
