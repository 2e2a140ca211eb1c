import { runService } from '@switchyard/service-kit';
import { media } from './service.ts';

await runService(media);
