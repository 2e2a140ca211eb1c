import { connectBus } from '@switchyard/bus';
import { contracts } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { natsUrl } from '../baselines/http.ts';

const bus = await connectBus(natsUrl(), { log: silentLogger(), service: 'secrets' });
await bus.serve(contracts.secrets, { 'secrets.resolve': ({ name }) => ({ value: name }) }, { version: '1.0.0' });
await bus.flush();
console.log('answering');
