import { runService } from '@switchyard/service-kit';
import { tools } from './service.ts';

await runService(tools);
