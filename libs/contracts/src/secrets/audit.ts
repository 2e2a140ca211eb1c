import { z } from 'zod';
import { Count, Timestamp } from '../values/common.ts';
import { AUDIT_KINDS, defineOperations, SERVICES } from '../definition/define.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** Audit record of a call, written before the call is made. The principal is its owner. */
const Act = z.strictObject({
  id: boundedString(MAX.id),
  method: boundedString(MAX.name),
  kind: z.enum(AUDIT_KINDS),
  /** Which thing it is about, as the caller named it; never a value. */
  target: z.record(boundedString(MAX.name), boundedString(MAX.name)).check(maxKeys(10)),
  requestId: boundedString(MAX.id),
  service: z.enum(SERVICES),
  replica: boundedString(MAX.id),
});
export type AuditAct = z.infer<typeof Act>;

/** `unknown`: whoever did it died before it could say whether it was done. */
const AuditOutcome = z.enum(['success', 'failure', 'denied', 'unknown']);
export type AuditOutcome = z.infer<typeof AuditOutcome>;

/** One link of the chain of a tenant. */
export const AuditRecord = Act.extend({
  seq: z.int().positive(),
  at: Timestamp.describe('when the record was written'),
  since: Timestamp.describe('when the call began'),
  client: boundedString(MAX.name),
  agent: boundedString(MAX.name).optional(),
  outcome: AuditOutcome,
  code: boundedString(MAX.name).optional().describe('code of a failed call'),
  count: z.int().positive().optional().describe('number of calls that this entry represents, for reads'),
  prev: boundedString(MAX.id).describe('hash of the previous entry; empty in the first'),
  mac: boundedString(MAX.id).optional().describe('MAC of all fields above, with a master key'),
  hash: boundedString(MAX.id).describe('SHA-256 of all other fields'),
});
export type AuditRecord = z.infer<typeof AuditRecord>;

/** Read calls of one caller to one method with the same outcome. */
const AuditLook = Act.omit({ kind: true }).extend({
  outcome: AuditOutcome,
  code: boundedString(MAX.name).optional(),
  count: z.int().positive(),
  agoMs: Count.describe('age of the first of these calls'),
});
export type AuditLook = z.infer<typeof AuditLook>;

/** Head of the audit chain. */
export const AuditHead = z.object({ seq: Count, hash: boundedString(MAX.id) });
export type AuditHead = z.infer<typeof AuditHead>;

/** How every service puts on record what was done through it. */
export const auditOperations = defineOperations({
  'audit.begin': {
    summary: 'Announces an audited call. Without a matching finish it is recorded as unknown.',
    callers: SERVICES,
    params: Act.extend({ deadline: Timestamp.describe('deadline of the call') }),
    result: z.object({ begun: z.literal(true) }),
    idempotent: true,
  },
  'audit.finish': {
    summary: 'Records the outcome of an announced call. Idempotent.',
    callers: SERVICES,
    params: z.strictObject({ id: boundedString(MAX.id), outcome: AuditOutcome, code: boundedString(MAX.name).optional() }),
    result: z.object({ recorded: z.literal(true) }),
    emits: ['audit:event'],
    idempotent: true,
  },
  'audit.looked': {
    summary: 'Records reads of the caller afterwards. Idempotent.',
    callers: SERVICES,
    params: z.strictObject({ looks: z.array(AuditLook).min(1).max(MAX.few) }),
    result: z.object({ recorded: z.literal(true) }),
    blobs: ['looks'],
    emits: ['audit:event'],
    idempotent: true,
  },
  'audit.read': {
    summary: 'Returns the audit chain of the caller’s tenant from an entry on, and its end.',
    callers: ['gateway'] as const,
    params: z.strictObject({ after: Count, limit: z.int().min(1).max(MAX.many) }),
    result: z.object({
      records: z.array(AuditRecord).max(MAX.many),
      head: AuditHead,
      forged: z.int().positive().optional().describe('first entry with an invalid MAC'),
    }),
    blobs: ['records'],
    looked: true,
    idempotent: true,
  },
});
