import { connectBus } from '@switchyard/bus';
import { mintId } from '@switchyard/security';
import { silentLogger } from '@switchyard/telemetry';
import { natsUrl } from '../baselines/http.ts';
import { drive } from './drive.ts';
import { EVENT, STREAM } from './event.ts';

const bus = await connectBus(natsUrl(), { log: silentLogger() });
const log = await bus.log({ ...STREAM, name: 'OURS', subjects: ['ours.event'] });
drive(() => log.append({ subject: 'ours.event', data: EVENT }, mintId('evt')));
