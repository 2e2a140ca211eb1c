import { runService } from '@switchyard/service-kit';
import { sessions } from './service.ts';

await runService(sessions);
