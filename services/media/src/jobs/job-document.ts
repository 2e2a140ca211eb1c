import { StoredPrincipal } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { workFields, workIndex } from '@switchyard/work';
import { z } from 'zod';

const RETENTION_MS = 24 * 3_600_000;
/** The longest text to speak, whatever its encoding. */
const JOB_BYTES = 8_388_608;
const instant = z.int().nonnegative();

/** A paid call: speech or an image. As work it is ended by another replica when its own is killed. */
export const JobDocument = z.object({
  ...workFields,
  jobId: z.string(),
  kind: z.enum(['speech', 'image']),
  client: z.string(),
  idempotencyKey: z.string().optional(),
  principal: json(StoredPrincipal),
  agent: z.string().optional(),
  session: z.string().optional(),
  params: json(z.looseObject({})),
  /** Present after the end, one of them. */
  result: json(z.looseObject({})).optional(),
  failure: json(z.object({ code: z.string(), message: z.string(), details: z.looseObject({}) })).optional(),
  createdAt: instant,
  finishedAt: instant.optional(),
});
export type JobDocument = z.infer<typeof JobDocument>;

export const jobCollection = collection({
  name: 'jobs',
  schema: JobDocument,
  key: 'jobId',
  maxBytes: JOB_BYTES,
  indexes: [workIndex],
  unique: [['client', 'kind', 'idempotencyKey']],
  expires: { field: 'finishedAt', afterMs: RETENTION_MS },
});
