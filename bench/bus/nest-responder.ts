import { startResponder } from './nest.ts';

await startResponder();
console.log('answering');
