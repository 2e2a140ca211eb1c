import { connectBus } from '@switchyard/bus';
import { silentLogger } from '@switchyard/telemetry';
import { natsUrl } from '../baselines/http.ts';
import { REQUEST } from './request.ts';
import { drive } from './drive.ts';

const bus = await connectBus(natsUrl(), { log: silentLogger(), service: 'sessions' });
drive(() => bus.call('secrets.resolve', REQUEST));
