import { runService } from '@switchyard/service-kit';
import { secrets } from './service.ts';

await runService(secrets);
