import { runService } from '@switchyard/service-kit';
import { browser } from './service.ts';

await runService(browser);
