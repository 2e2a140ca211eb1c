import { createBroker } from './moleculer.ts';

const broker = createBroker('responder');
broker.createService({ name: 'secrets', actions: { resolve: ({ params }) => ({ value: params.name }) } });
await broker.start();
console.log('answering');
