import { runService } from '@switchyard/service-kit';
import { graph } from './service.ts';

await runService(graph);
