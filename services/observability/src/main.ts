import { runService } from '@switchyard/service-kit';
import { observability } from './service.ts';

await runService(observability);
