import { jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { mintId } from '@switchyard/security';
import { connectHop } from '../baselines/hop.ts';
import { drive } from './drive.ts';
import { EVENT, STREAM } from './event.ts';

// Written like the manual of the client.
const connection = await connectHop();
const manager = await jetstreamManager(connection);
await manager.streams.add({ name: 'THEIRS', subjects: ['theirs.event'], storage: StorageType.File, max_age: nanos(STREAM.maxAgeMs) });
const client = jetstream(connection);
drive(() => client.publish('theirs.event', EVENT, { msgID: mintId('evt') }));
