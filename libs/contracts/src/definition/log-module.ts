import { z } from 'zod';
import { SERVICES } from './define.ts';

/** What logs: each service, parts that several of them have, and the process itself. Whoever logs under another name adds it here. */
export const LogModule = z.enum([...SERVICES, 'blobs', 'bus', 'cache', 'process', 'store', 'telemetry']);
export type LogModule = z.infer<typeof LogModule>;
