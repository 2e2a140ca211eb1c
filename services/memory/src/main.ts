import { runService } from '@switchyard/service-kit';
import { memory } from './service.ts';

await runService(memory);
