import { ServiceError, type AuditHead, type AuditOutcome, type AuditRecord, type EventPayload } from '@switchyard/contracts';
import { linkHash, linkMac } from '@switchyard/security';
import { inserted, type Store } from '@switchyard/store';
import type { AuditSeal } from '../values/data-key.ts';
import type { AuditBegunDocument, AuditData, AuditDocument } from '../documents/collections.ts';

const HEAD = 'head';
const BEGINNING: AuditHead = { seq: 0, hash: '' };
/** As many digits as a number has that is exact: in the order of their keys the records are in their own. */
const DIGITS = 16;

export interface Ending {
  outcome: AuditOutcome;
  code?: string | undefined;
}

/** A call as it goes on record; of those that changed nothing, several. */
export type Recorded = Omit<AuditBegunDocument, 'until'> & Pick<AuditRecord, 'count'>;

/** The chain of one tenant. What was written is never changed. */
export interface Chain {
  /** Puts a call at the end, once for each, whoever says it and however often. */
  append(call: Recorded, ending: Ending): Promise<void>;
  /** With the first of them whose MAC is wrong, where there is a key to tell. */
  read(after: number, limit: number): Promise<{ records: AuditRecord[]; head: AuditHead; forged?: number }>;
}

interface Given {
  store: Pick<Store, 'now'>;
  seal?: AuditSeal | undefined;
  sealedElsewhere?: () => Promise<boolean>;
}

/** While the first master key comes to one replica after the other, some do not have it yet: what those write is no forgery. */
const FIRST_KEY_MS = 60_000;

/** A replica without the key writes nothing once others have it: it would look as if its MAC had been taken away. */
export async function refuseUnsealed(sealedElsewhere: () => Promise<boolean>): Promise<void> {
  if (!(await sealedElsewhere())) return;
  throw new ServiceError('UNAVAILABLE', 'this replica has no SECRETS_MASTER_KEY, and others have: start it with the same', {
    details: { reason: 'AUDIT_UNSEALED' },
  });
}

/** The key of a record is its number, so that replicas that append at once do so one after the other: who comes second tries the next. */
export function createChain(
  { records: all, heads: allHeads }: AuditData,
  tenant: string,
  { store, seal, sealedElsewhere = async () => false }: Given,
): Chain {
  const records = all.for({ tenant });
  const heads = allHeads.for({ tenant });
  /** An end that was seen, or put there: the chain only grows. */
  let known: AuditHead | undefined;
  let last: Promise<unknown> = Promise.resolve();

  /** One after the other, in the order in which they came: only replicas race. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  }

  /** The head may be behind the chain: another replica goes on, or died before it told. */
  async function end(): Promise<AuditHead> {
    let at: AuditHead = known ?? (await heads.get(HEAD)) ?? BEGINNING;
    for (let next = await records.get(keyOf(at.seq + 1)); next !== null; next = await records.get(keyOf(at.seq + 1))) at = next;
    return (known = at);
  }

  async function tell({ seq, hash }: AuditHead): Promise<void> {
    if ((await heads.update({ name: HEAD, seq: { lt: seq } }, { set: { seq, hash } })) !== null) return;
    await inserted(() => heads.insert({ name: HEAD, seq, hash })); // unless another replica has told a later one
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

/** A record of the time before there was a key has no MAC, and every other one has. */
function isSealed(record: AuditRecord, tenant: string, { key, since }: AuditSeal): boolean {
  if (record.mac === undefined) return since > 0 && record.at < since + FIRST_KEY_MS;
  return record.mac === linkMac(key, tenant, record);
}

function keyOf(seq: number): string {
  return String(seq).padStart(DIGITS, '0');
}

function withoutKey({ key, ...record }: AuditDocument): AuditRecord {
  if (key === keyOf(record.seq)) return record;
  throw new ServiceError('DATA_LOSS', `the record under ${key} says that it is number ${record.seq}`);
}

/** What others hear has the words of the interface: an outcome that nobody knows is a failure there. */
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
