import { z } from 'zod';
import { Count, Timestamp } from '../common.ts';
import { AUDIT_KINDS, defineOperations, SERVICES } from '../define.ts';
import { mostKeys } from '../most-keys.ts';
import { MAX, upTo } from '../sizes.ts';

/** What a call is on record as, before it is made. Whose it is says the principal. */
const Act = z.strictObject({
  id: upTo(MAX.id),
  method: upTo(MAX.name),
  kind: z.enum(AUDIT_KINDS),
  /** Which thing it is about, as the caller named it; never a value. */
  target: z.record(upTo(MAX.name), upTo(MAX.name)).check(mostKeys(10)),
  requestId: upTo(MAX.id),
  service: z.enum(SERVICES),
  replica: upTo(MAX.id),
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
  client: upTo(MAX.name),
  agent: upTo(MAX.name).optional(),
  outcome: AuditOutcome,
  code: upTo(MAX.name).optional().describe('of what failed'),
  count: z.int().positive().optional().describe('of calls that changed nothing: for how many it stands'),
  prev: upTo(MAX.id).describe('the hash of the record before; empty in the first one'),
  mac: upTo(MAX.id).optional().describe('a MAC of all above under a key of the installation, where it has a master key'),
  hash: upTo(MAX.id).describe('SHA-256 of all else that stands here'),
});
export type AuditRecord = z.infer<typeof AuditRecord>;

/** Calls of one caller to one method that changed nothing and ended alike. */
const AuditLook = Act.omit({ kind: true }).extend({
  outcome: AuditOutcome,
  code: upTo(MAX.name).optional(),
  count: z.int().positive(),
  agoMs: Count.describe('how long ago the first of them was made'),
});
export type AuditLook = z.infer<typeof AuditLook>;

/** Where a chain ends. */
export const AuditHead = z.object({ seq: Count, hash: upTo(MAX.id) });
export type AuditHead = z.infer<typeof AuditHead>;

/** How every service puts on record what was done through it. */
export const auditOperations = defineOperations({
  'audit.begin': {
    summary: 'Says that a call is about to be made. One of which nothing more is heard is put on record as unknown.',
    callers: SERVICES,
    params: Act.extend({ deadline: Timestamp.describe('when nobody waits for the call any more') }),
    result: z.object({ begun: z.literal(true) }),
    idempotent: true,
  },
  'audit.finish': {
    summary: 'Puts on record how a call that was begun ended. Once for each, however often it is said.',
    callers: SERVICES,
    params: z.strictObject({ id: upTo(MAX.id), outcome: AuditOutcome, code: upTo(MAX.name).optional() }),
    result: z.object({ recorded: z.literal(true) }),
    emits: ['audit:event'],
    idempotent: true,
  },
  'audit.looked': {
    summary: 'Puts on record what the caller looked at, a moment after it did. Each once, however often it is said.',
    callers: SERVICES,
    params: z.strictObject({ looks: z.array(AuditLook).min(1).max(MAX.few) }),
    result: z.object({ recorded: z.literal(true) }),
    blobs: ['looks'],
    emits: ['audit:event'],
    idempotent: true,
  },
  'audit.read': {
    summary: 'The chain of the caller’s tenant, from a record on, and where it ends.',
    callers: ['gateway'] as const,
    params: z.strictObject({ after: Count, limit: z.int().min(1).max(MAX.many) }),
    result: z.object({
      records: z.array(AuditRecord).max(MAX.many),
      head: AuditHead,
      forged: z.int().positive().optional().describe('the first of them whose MAC is not one of this installation'),
    }),
    blobs: ['records'],
    looked: true,
    idempotent: true,
  },
});
