import { ServiceError, type AuditHead, type AuditOutcome, type AuditRecord, type EventPayload } from '@switchyard/contracts';
import { linkHash, linkMac } from '@switchyard/security';
import { inserted, type Store } from '@switchyard/store';
import type { AuditSeal } from '../values/data-key.ts';
import type { AuditBegunDocument, AuditData, AuditDocument } from '../documents/collections.ts';

const HEAD = 'head';
const EMPTY_HEAD: AuditHead = { seq: 0, hash: '' };
/** Digits of the largest exact integer. Zero-padded keys sort in the order of their numbers. */
const KEY_DIGITS = 16;

export interface Ending {
  outcome: AuditOutcome;
  code?: string | undefined;
}

/** A call to be recorded. Reads are recorded as one entry with a count. */
export type Recorded = Omit<AuditBegunDocument, 'until'> & Pick<AuditRecord, 'count'>;

/** The append-only audit log of one tenant. */
export interface Chain {
  /** Appends a call once, also if it is reported several times or by several replicas. */
  append(call: Recorded, ending: Ending): Promise<void>;
  /** Reads records. With an audit key, `forged` is the number of the first record whose MAC is wrong. */
  read(after: number, limit: number): Promise<{ records: AuditRecord[]; head: AuditHead; forged?: number }>;
}

interface Given {
  store: Pick<Store, 'now'>;
  seal?: AuditSeal | undefined;
  sealedElsewhere?: () => Promise<boolean>;
}

/** While the first master key is rolled out, replicas without it still write records without a MAC. These are accepted. */
const FIRST_KEY_MS = 60_000;

/** Rejects writes of a replica without the master key once other replicas have it: a record without a MAC would look forged. */
export async function refuseUnsealed(sealedElsewhere: () => Promise<boolean>): Promise<void> {
  if (!(await sealedElsewhere())) return;
  throw new ServiceError('UNAVAILABLE', 'This replica has no SECRETS_MASTER_KEY, but other replicas have one. Restart it with the same key.', {
    details: { reason: 'AUDIT_UNSEALED' },
  });
}

/** The key of a record is its number. If two replicas append at once, the second insert fails and retries with the next number. */
export function createChain(
  { records: all, heads: allHeads }: AuditData,
  tenant: string,
  { store, seal, sealedElsewhere = async () => false }: Given,
): Chain {
  const records = all.for({ tenant });
  const heads = allHeads.for({ tenant });
  /** The last record that this process has seen. The chain only grows. */
  let known: AuditHead | undefined;
  let last: Promise<unknown> = Promise.resolve();

  /** Runs the appends of this process in order, so that only replicas compete. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  }

  /** Finds the last record. The stored head can be behind: another replica appended since, or crashed before it moved the head. */
  async function end(): Promise<AuditHead> {
    let at: AuditHead = known ?? (await heads.get(HEAD)) ?? BEGINNING;
    for (let next = await records.get(keyOf(at.seq + 1)); next !== null; next = await records.get(keyOf(at.seq + 1))) at = next;
    return (known = at);
  }

  async function tell({ seq, hash }: AuditHead): Promise<void> {
    if ((await heads.update({ name: HEAD, seq: { lt: seq } }, { set: { seq, hash } })) !== null) return;
    await inserted(() => heads.insert({ name: HEAD, seq, hash })); // another replica may have stored a later head
  }

  async function isThere(id: string): Promise<boolean> {
    return (await records.count({ id })) > 0;
  }

  async function append(begun: Recorded, { outcome, code }: Ending): Promise<void> {
    await refuseUnsealed(sealedElsewhere);
    for (;;) {
      const before = await end();
      const at = store.now();
      const said = { ...begun, seq: before.seq + 1, at, outcome, ...(code === undefined ? {} : { code }), prev: before.hash };
      const sealed = seal === undefined ? said : { ...said, mac: linkMac(seal.key, tenant, said) };
      const record: AuditRecord = { ...sealed, hash: linkHash(sealed) };
      const event = { name: 'audit:event', payload: eventOf(record, tenant) };
      if (await inserted(() => records.insert({ key: keyOf(record.seq), ...record }, { emit: [event] }))) return tell(record);
      if (await isThere(begun.id)) return;
    }
  }

  return {
    append: (call, ending) => inTurn(() => append(call, ending)),
    async read(after, limit) {
      const head = (await heads.get(HEAD)) ?? BEGINNING;
      const { items } = await records.find({ seq: { gt: after } }, { sort: [['seq', 'asc']], limit });
      const { seq, hash } = head;
      const found = items.map(withoutKey);
      const forged = found.find((record) => seal !== undefined && !isSealed(record, tenant, seal));
      return { records: found, head: { seq, hash }, ...(forged === undefined ? {} : { forged: forged.seq }) };
    },
  };
}

/** Only records from before the first master key have no MAC. */
function isSealed(record: AuditRecord, tenant: string, { key, since }: AuditSeal): boolean {
  if (record.mac === undefined) return since > 0 && record.at < since + FIRST_KEY_MS;
  return record.mac === linkMac(key, tenant, record);
}

function keyOf(seq: number): string {
  return String(seq).padStart(DIGITS, '0');
}

function withoutKey({ key, ...record }: AuditDocument): AuditRecord {
  if (key === keyOf(record.seq)) return record;
  throw new ServiceError('DATA_LOSS', `the audit record with key ${key} has number ${record.seq}`);
}

/** The contract has no unknown outcome: it is reported as a failure with `unknown` in the metadata. */
function eventOf({ outcome, ...record }: AuditRecord, tenant: string): EventPayload<'audit:event'> {
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
