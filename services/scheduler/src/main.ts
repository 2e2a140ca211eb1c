import { runService } from '@switchyard/service-kit';
import { scheduler } from './service.ts';

await runService(scheduler);
