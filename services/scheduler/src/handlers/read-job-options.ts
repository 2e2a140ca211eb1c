import { JobOptions, type Params } from '@switchyard/contracts';
import type { JobDocument } from '../documents/collections.ts';

/** Returns the job fields that the optional parameters set. */
export function readJobOptions(params: Partial<Params<'cron.update'>>): Partial<JobDocument> {
  const present = Object.entries(JobOptions.parse(params)).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present);
}
