import { REQUEST } from './request.ts';
import { drive } from './drive.ts';
import { createBroker } from './moleculer.ts';

const broker = createBroker('caller');
await broker.start();
await broker.waitForServices('secrets');
drive(() => broker.call('secrets.resolve', REQUEST));
