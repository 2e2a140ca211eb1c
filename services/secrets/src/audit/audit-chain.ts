import { ServiceError, type AuditHead, type AuditOutcome, type AuditRecord, type EventPayload } from '@switchyard/contracts';
import { linkHash, linkMac } from '@switchyard/security';
import { inserted, type Store } from '@switchyard/store';
import type { AuditKey } from '../values/data-key.ts';
import type { PendingCallDocument, AuditData, AuditDocument } from '../documents/collections.ts';

const HEAD = 'head';
const EMPTY_HEAD: AuditHead = { seq: 0, hash: '' };
/** Digits of the largest exact integer. Zero-padded keys sort in the order of their numbers. */
const KEY_DIGITS = 16;

export interface AuditedOutcome {
  outcome: AuditOutcome;
  code?: string | undefined;
}

/** A call to be recorded. Reads are recorded as one entry with a count. */
export type AuditedCall = Omit<PendingCallDocument, 'until'> & Pick<AuditRecord, 'count'>;

/** The append-only audit log of one tenant. */
export interface AuditChain {
  /** Appends a call once, also if it is reported several times or by several replicas. */
  append(call: AuditedCall, ending: AuditedOutcome): Promise<void>;
  /** Reads records. With an audit key, `forged` is the number of the first record whose MAC is wrong. */
  read(after: number, limit: number): Promise<{ records: AuditRecord[]; head: AuditHead; forged?: number }>;
}

interface AuditChainOptions {
  store: Pick<Store, 'now'>;
  auditKey?: AuditKey | undefined;
  isEncryptedElsewhere?: () => Promise<boolean>;
}

/** While the first master key is rolled out, replicas without it still write records without a MAC. These are accepted. */
const FIRST_KEY_GRACE_MS = 60_000;

/** Rejects writes of a replica without the master key once other replicas have it: a record without a MAC would look forged. */
export async function rejectWithoutKey(isEncryptedElsewhere: () => Promise<boolean>): Promise<void> {
  if (!(await isEncryptedElsewhere())) return;
  throw new ServiceError(
    'UNAVAILABLE',
    'This replica has no SECRETS_MASTER_KEY, but other replicas have one. Restart it with the same key.',
    {
      details: { reason: 'AUDIT_UNSEALED' },
    },
  );
}

/** The key of a record is its number. If two replicas append at once, the second insert fails and retries with the next number. */
export function createAuditChain(
  { records: all, heads: allHeads }: AuditData,
  tenant: string,
  { store, auditKey, isEncryptedElsewhere = async () => false }: AuditChainOptions,
): AuditChain {
  const records = all.for({ tenant });
  const heads = allHeads.for({ tenant });
  /** The last record that this process has seen. The chain only grows. */
  let known: AuditHead | undefined;
  let running: Promise<unknown> = Promise.resolve();

  /** Runs the appends of this process in order, so that only replicas compete. */
  function runInOrder(work: () => Promise<void>): Promise<void> {
    const result = running.then(work);
    running = result.catch(() => undefined);
    return result;
  }

  /** Finds the last record. The stored head can be behind: another replica appended since, or crashed before it moved the head. */
  async function findEnd(): Promise<AuditHead> {
    let last: AuditHead = known ?? (await heads.get(HEAD)) ?? EMPTY_HEAD;
    for (let next = await records.get(toKey(last.seq + 1)); next !== null; next = await records.get(toKey(last.seq + 1))) last = next;
    return (known = last);
  }

  async function storeHead({ seq, hash }: AuditHead): Promise<void> {
    if ((await heads.update({ name: HEAD, seq: { lt: seq } }, { set: { seq, hash } })) !== null) return;
    await inserted(() => heads.insert({ name: HEAD, seq, hash })); // another replica may have stored a later head
  }

  async function isRecorded(id: string): Promise<boolean> {
    return (await records.count({ id })) > 0;
  }

  async function append(call: AuditedCall, { outcome, code }: AuditedOutcome): Promise<void> {
    await rejectWithoutKey(isEncryptedElsewhere);
    for (;;) {
      const before = await findEnd();
      const at = store.now();
      const content = { ...call, seq: before.seq + 1, at, outcome, ...(code === undefined ? {} : { code }), prev: before.hash };
      const signed = auditKey === undefined ? content : { ...content, mac: linkMac(auditKey.key, tenant, content) };
      const record: AuditRecord = { ...signed, hash: linkHash(signed) };
      const event = { name: 'audit:event', payload: toEvent(record, tenant) };
      if (await inserted(() => records.insert({ key: toKey(record.seq), ...record }, { emit: [event] }))) return storeHead(record);
      if (await isRecorded(call.id)) return;
    }
  }

  return {
    append: (call, ending) => runInOrder(() => append(call, ending)),
    async read(after, limit) {
      const head = (await heads.get(HEAD)) ?? EMPTY_HEAD;
      const { items } = await records.find({ seq: { gt: after } }, { sort: [['seq', 'asc']], limit });
      const { seq, hash } = head;
      const audited = items.map(toRecord);
      const forged = audited.find((record) => auditKey !== undefined && !hasValidMac(record, tenant, auditKey));
      return { records: audited, head: { seq, hash }, ...(forged === undefined ? {} : { forged: forged.seq }) };
    },
  };
}

/** Only records from before the first master key have no MAC. */
function hasValidMac(record: AuditRecord, tenant: string, { key, since }: AuditKey): boolean {
  if (record.mac === undefined) return since > 0 && record.at < since + FIRST_KEY_GRACE_MS;
  return record.mac === linkMac(key, tenant, record);
}

function toKey(seq: number): string {
  return String(seq).padStart(KEY_DIGITS, '0');
}

function toRecord({ key, ...record }: AuditDocument): AuditRecord {
  if (key === toKey(record.seq)) return record;
  throw new ServiceError('DATA_LOSS', `the audit record with key ${key} has number ${record.seq}`);
}

/** The contract has no unknown outcome: it is reported as a failure with `unknown` in the metadata. */
function toEvent({ outcome, ...record }: AuditRecord, tenant: string): EventPayload<'audit:event'> {
  const { id, seq, hash, requestId, code, target, count } = record;
  return {
    timestamp: record.at,
    agentId: record.agent ?? record.client,
    tenantId: tenant,
    actionType: record.method,
    classification: record.kind,
    outcome: outcome === 'unknown' ? 'failure' : outcome,
    metadata: {
      ...target,
      id,
      seq,
      hash,
      requestId,
      ...(code === undefined ? {} : { code }),
      ...(count === undefined ? {} : { count }),
      ...(outcome === 'unknown' ? { unknown: true } : {}),
    },
  };
}
