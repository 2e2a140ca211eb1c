import { createTaskWork, openTasks, recordEvents } from './load.fixture.ts';

// A replica of a load test: `node load-replica.fixture.ts <store> <name> <file of entries>`.
const [url = '', owner = '', file = ''] = process.argv.slice(2);
const CAPACITY = 16;

const opened = await openTasks(url);
await recordEvents(opened.store, file);
const work = createTaskWork({ ...opened, owner, capacity: CAPACITY, file });
process.stdout.write('ready\n');
await work.poll();
