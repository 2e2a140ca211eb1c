import { z } from 'zod';
import { SERVICES } from './define.ts';

/** Modules of the log: each service, shared parts, and the process. Add new module names here. */
export const LogModule = z.enum([...SERVICES, 'blobs', 'bus', 'cache', 'process', 'store', 'telemetry']);
export type LogModule = z.infer<typeof LogModule>;
