import { runService } from '@switchyard/service-kit';
import { registry } from './service.ts';

await runService(registry);
