import { after, before } from 'node:test';
import { startMongo, type MongoServer } from '@switchyard/testkit';
import { defineChainTests } from './response-chain-cases.fixture.ts';
import { startSessions } from './response-chain.fixture.ts';

let mongo: MongoServer;
before(async () => (mongo = await startMongo()));
after(() => mongo.stop());

defineChainTests('mongodb', (options) => startSessions(mongo, options));
