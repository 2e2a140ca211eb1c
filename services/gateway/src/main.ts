import { runService } from '@switchyard/service-kit';
import { gateway } from './service.ts';

await runService(gateway);
