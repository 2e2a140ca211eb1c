import { drive } from './drive.ts';
import { connectCaller } from './nest.ts';

const call = await connectCaller();
drive(() => call('NAME'));
