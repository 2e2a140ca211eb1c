import { AuditHead, AuditRecord } from '@switchyard/contracts';
import { checkChain, linkHash, type Link } from '@switchyard/security';
import { noToken, type Where } from '../server/server-location.ts';
import { Failure, wrongUsage } from '../output/failure.ts';
import { choiceOf, numberOf } from '../arguments/flags.ts';
import { group, type Given } from '../arguments/command-group.ts';
import { print, printAs, remark, rows, table } from '../output/output.ts';
import { isObject } from '../output/json-values.ts';
import { probe } from '../server/probe.ts';
import { self } from '../server/installation.ts';
import { leavesOf } from '../output/settings-table.ts';
import { second } from '../output/times.ts';

const PAGE = 500;
const LISTED = 20;
const OUTCOMES = ['success', 'failure', 'denied', 'unknown'];

export const audit = group({
  name: 'audit',
  about: [
    'Shows what was done, as it stands on record, and checks that nobody changed the record. verify says where the record ends: keep that',
    'elsewhere. Whoever can rewrite all of the database can rewrite the record, and --since with what was kept finds that too.',
  ].join('\n'),
  verbs: {
    list: { about: 'the newest acts, oldest first', flags: ['limit', 'client', 'method', 'outcome'], run: list },
    show: { takes: '<number>', about: 'all of one record', run: show },
    verify: {
      about: 'reads the whole record, and finds what was changed, is gone, was moved, or was cut off',
      flags: ['since'],
      run: verify,
    },
    export: { about: 'all of it, oldest first, a record a line', run: exportAll },
  },
  flags: {
    limit: { value: 'n', about: `list: how many; ${LISTED} unless said` },
    client: { value: 'name', about: 'list: of whom', names: 'tokens' },
    method: { value: 'name', about: 'list: what was called; a star at its end stands for any' },
    outcome: { value: 'outcome', about: `list: ${OUTCOMES.join(', ')}`, names: OUTCOMES },
    since: { value: 'n:hash', about: 'verify: an end that was kept; what came before it is as good as it was then' },
  },
  examples: ['audit list --limit 5', "audit list --method 'tokens.*'", 'audit verify', 'audit verify -o json'],
});

interface Page {
  records: AuditRecord[];
  head: AuditHead;
  forged?: number | undefined;
}

async function list({ flags, output, where }: Given): Promise<void> {
  const { limit = LISTED } = numberOf(flags, 'limit', 'limit');
  if (limit < 1 || limit > 999) throw wrongUsage(`--limit is a number from 1 to 999, not ${limit}.`, `${self()} audit --help`);
  choiceOf(flags, 'outcome', { name: 'outcome', of: OUTCOMES });
  const records = await newest(where(), limit, flags);
  if (output !== 'table') return printAs(output, records);
  if (records.length === 0) return remark(isFiltered(flags) ? 'Nothing like it is on record.' : 'Nothing is on record yet.');
  print(table(['NO', 'WHEN', 'WHO', 'WHAT', 'OUTCOME', 'ABOUT'], records.map(shown)));
}

/** Reads pages backwards from the end until enough matching records are found. */
async function newest(where: Where, limit: number, flags: Given['flags']): Promise<AuditRecord[]> {
  const { head } = await readPage(where, 0, 1);
  const size = isFiltered(flags) ? PAGE : limit;
  let found: AuditRecord[] = [];
  for (let end = head.seq; end > 0 && found.length < limit; end -= size) {
    const after = Math.max(0, end - size);
    const { records } = await readPage(where, after, end - after);
    found = [...records.filter((record) => isMeant(record, flags)), ...found];
  }
  return found.slice(-limit);
}

function isFiltered({ client, method, outcome }: Given['flags']): boolean {
  return (client ?? method ?? outcome) !== undefined;
}

function isMeant(record: AuditRecord, { client, method, outcome }: Given['flags']): boolean {
  const called = method?.endsWith('*') ? record.method.startsWith(method.slice(0, -1)) : (method ?? record.method) === record.method;
  return called && (client ?? record.client) === record.client && (outcome ?? record.outcome) === record.outcome;
}

async function show({ output, where }: Given, number: string): Promise<void> {
  if (!/^[1-9][0-9]{0,14}$/.test(number)) throw wrongUsage(`${number} is no number of a record.`, `${self()} audit list`);
  const seq = Number(number);
  const [record] = (await readPage(where(), seq - 1, 1)).records;
  if (record?.seq !== seq) throw new Failure(`There is no record ${number}.`, `${self()} audit list`);
  if (output !== 'table') return printAs(output, record);
  print(
    rows([...leavesOf({ ...record, at: second(record.at), since: second(record.since) })].map(([name, value]) => [name, String(value)])),
  );
}

/** Prints JSON lines, so that a reader can process them one by one. */
async function exportAll({ where }: Given): Promise<void> {
  const at = where();
  for (let [after, more] = [0, true]; more;) {
    const { records } = await readPage(at, after, PAGE);
    print(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    more = records.length === PAGE;
    after = records.at(-1)?.seq ?? after;
  }
}

function shown({ seq, at, client, method, outcome, target, count = 1 }: AuditRecord): string[] {
  const about = Object.entries(target).map(([name, value]) => `${name}=${value}`);
  if (count > 1) about.push(`${count} times`);
  return [String(seq), second(at), client, method, outcome, about.join(' ')];
}

async function verify({ flags, output, where }: Given): Promise<void> {
  const kept = flags['since'] === undefined ? undefined : readSince(flags['since']);
  const at = where();
  if (kept !== undefined) await checkKept(at, kept);
  const check = checkChain(kept);
  let head: AuditHead = { seq: 0, hash: '' };
  for (let more = true; more;) {
    const page = await readPage(at, check.at.seq, PAGE);
    for (const record of page.records) {
      const wrong = check.next(record);
      if (wrong !== undefined) throw broken(wrong);
    }
    if (page.forged !== undefined) throw broken(`record ${page.forged} was written by somebody who has not the key of this installation`);
    more = page.records.length === PAGE;
    ({ head } = page);
  }
  if (check.at.seq < head.seq) throw broken(`the record ends at ${check.at.seq}, and was at ${head.seq}: its end is gone`);
  const end = `${check.at.seq}:${check.at.hash}`;
  if (output !== 'table') printAs(output, { whole: true, records: check.at.seq, end });
  else {
    print(`${check.at.seq} ${check.at.seq === 1 ? 'record' : 'records'}, whole\n`);
    if (check.at.seq > 0) remark(`Keep where it ends; later: ${self()} audit verify --since ${end}`);
  }
}

async function checkKept(where: Where, { seq, hash }: Pick<Link, 'seq' | 'hash'>): Promise<void> {
  const { records } = await readPage(where, seq - 1, 1);
  const [record] = records;
  if (record?.seq !== seq) throw broken(`record ${seq} is gone, which was there when its hash was kept`);
  if (record.hash !== hash || linkHash(record) !== hash) throw broken(`record ${seq} is another than when its hash was kept`);
}

function readSince(text: string): Pick<Link, 'seq' | 'hash'> {
  const [, seq, hash] = /^([1-9][0-9]{0,14}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined || hash === undefined)
    throw wrongUsage('--since is what verify printed: a number, a colon and a hash.', `${self()} audit --help`);
  return { seq: Number(seq), hash };
}

function broken(sentence: string): Failure {
  return new Failure(`The record is not whole: ${sentence}.`, `${self()} audit list`);
}

async function readPage(where: Where, after: number, limit: number): Promise<Page> {
  if (where.token === undefined) throw noToken(where);
  const answer = await probe(where.url, `api/audit?after=${after}&limit=${limit}`, where.token);
  if (!answer.answered) throw new Failure(`${where.url} does not answer: ${answer.why}.`, `${self()} doctor`);
  const { status, body } = answer;
  if (status === 401 || status === 403)
    throw new Failure('The record is for tokens with scope admin, which this one has not.', `${self()} rpc tokens.list`);
  const found = isObject(body) ? body : {};
  const [records, head] = [AuditRecord.array().safeParse(found['records']), AuditHead.safeParse(found['head'])];
  if (status === 200 && records.success && head.success) {
    return { records: records.data, head: head.data, forged: typeof found['forged'] === 'number' ? found['forged'] : undefined };
  }
  const why = typeof found['error'] === 'string' ? found['error'] : `HTTP ${status}`;
  throw new Failure(`The record cannot be read: ${why}.`, `${self()} doctor`);
}
