import { AuditHead, AuditRecord } from '@switchyard/contracts';
import { checkChain, linkHash, type Link } from '@switchyard/security';
import { createNoTokenFailure, type Where } from '../server/server-location.ts';
import { Failure, wrongUsage } from '../output/failure.ts';
import { getChoice, getNumber } from '../arguments/flags.ts';
import { group, type CommandContext } from '../arguments/command-group.ts';
import { print, printAs, remark, rows, table } from '../output/output.ts';
import { isObject } from '../output/json-values.ts';
import { probe } from '../server/probe.ts';
import { self } from '../server/installation.ts';
import { getLeaves } from '../output/settings-table.ts';
import { second } from '../output/times.ts';

const PAGE = 500;
const LISTED = 20;
const OUTCOMES = ['success', 'failure', 'denied', 'unknown'];

export const audit = group({
  name: 'audit',
  about: [
    'Shows the audit log and verifies its integrity. verify prints the end of the log as a number and a hash. Store that value',
    'outside the database: --since with it detects even a log that was rewritten completely.',
  ].join('\n'),
  verbs: {
    list: { about: 'lists the newest records, oldest first', flags: ['limit', 'client', 'method', 'outcome'], run: list },
    show: { takes: '<number>', about: 'shows one record completely', run: show },
    verify: {
      about: 'reads the complete log and reports changed, missing, moved and truncated records',
      flags: ['since'],
      run: verify,
    },
    export: { about: 'prints the complete log, oldest first, one record per line', run: exportAll },
  },
  flags: {
    limit: { value: 'n', about: `list: number of records; default: ${LISTED}` },
    client: { value: 'name', about: 'list: of whom', names: 'tokens' },
    method: { value: 'name', about: 'list: method; a trailing * matches any suffix' },
    outcome: { value: 'outcome', about: `list: ${OUTCOMES.join(', ')}`, names: OUTCOMES },
    since: { value: 'n:hash', about: 'verify: a stored end of the log; only later records are read' },
  },
  examples: ['audit list --limit 5', "audit list --method 'tokens.*'", 'audit verify', 'audit verify -o json'],
});

interface Page {
  records: AuditRecord[];
  head: AuditHead;
  forged?: number | undefined;
}

async function list({ flags, output, where }: CommandContext): Promise<void> {
  const { limit = LISTED } = getNumber(flags, 'limit', 'limit');
  if (limit < 1 || limit > 999) throw wrongUsage(`--limit must be a number from 1 to 999, not ${limit}.`, `${self()} audit --help`);
  getChoice(flags, 'outcome', { name: 'outcome', of: OUTCOMES });
  const records = await newest(where(), limit, flags);
  if (output !== 'table') return printAs(output, records);
  if (records.length === 0) return remark(isFiltered(flags) ? 'No record matches.' : 'The audit log is empty.');
  print(table(['NO', 'WHEN', 'WHO', 'WHAT', 'OUTCOME', 'ABOUT'], records.map(formatRecord)));
}

/** Reads pages backwards from the end until enough matching records are found. */
async function newest(where: Where, limit: number, flags: CommandContext['flags']): Promise<AuditRecord[]> {
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

function isFiltered({ client, method, outcome }: CommandContext['flags']): boolean {
  return (client ?? method ?? outcome) !== undefined;
}

function isMeant(record: AuditRecord, { client, method, outcome }: CommandContext['flags']): boolean {
  const called = method?.endsWith('*') ? record.method.startsWith(method.slice(0, -1)) : (method ?? record.method) === record.method;
  return called && (client ?? record.client) === record.client && (outcome ?? record.outcome) === record.outcome;
}

async function show({ output, where }: CommandContext, number: string): Promise<void> {
  if (!/^[1-9][0-9]{0,14}$/.test(number)) throw wrongUsage(`${number} is not a record number.`, `${self()} audit list`);
  const seq = Number(number);
  const [record] = (await readPage(where(), seq - 1, 1)).records;
  if (record?.seq !== seq) throw new Failure(`Record ${number} does not exist.`, `${self()} audit list`);
  if (output !== 'table') return printAs(output, record);
  print(
    rows([...getLeaves({ ...record, at: second(record.at), since: second(record.since) })].map(([name, value]) => [name, String(value)])),
  );
}

/** Prints JSON lines, so that a reader can process them one by one. */
async function exportAll({ where }: CommandContext): Promise<void> {
  const at = where();
  for (let [after, more] = [0, true]; more;) {
    const { records } = await readPage(at, after, PAGE);
    print(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    more = records.length === PAGE;
    after = records.at(-1)?.seq ?? after;
  }
}

function formatRecord({ seq, at, client, method, outcome, target, count = 1 }: AuditRecord): string[] {
  const about = Object.entries(target).map(([name, value]) => `${name}=${value}`);
  if (count > 1) about.push(`${count} times`);
  return [String(seq), second(at), client, method, outcome, about.join(' ')];
}

async function verify({ flags, output, where }: CommandContext): Promise<void> {
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
    if (page.forged !== undefined) throw broken(`record ${page.forged} was not signed with the key of this installation`);
    more = page.records.length === PAGE;
    ({ head } = page);
  }
  if (check.at.seq < head.seq)
    throw broken(
      `the log ends at record ${check.at.seq}, but record ${head.seq} was written: the records after ${check.at.seq} are missing`,
    );
  const end = `${check.at.seq}:${check.at.hash}`;
  if (output !== 'table') printAs(output, { whole: true, records: check.at.seq, end });
  else {
    print(`${check.at.seq} ${check.at.seq === 1 ? 'record' : 'records'}, whole\n`);
    if (check.at.seq > 0) remark(`Store the end of the log. Verify from there later with: ${self()} audit verify --since ${end}`);
  }
}

async function checkKept(where: Where, { seq, hash }: Pick<Link, 'seq' | 'hash'>): Promise<void> {
  const { records } = await readPage(where, seq - 1, 1);
  const [record] = records;
  if (record?.seq !== seq) throw broken(`record ${seq}, whose hash was stored, is missing`);
  if (record.hash !== hash || linkHash(record) !== hash) throw broken(`record ${seq} does not match its stored hash`);
}

function readSince(text: string): Pick<Link, 'seq' | 'hash'> {
  const [, seq, hash] = /^([1-9][0-9]{0,14}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined || hash === undefined)
    throw wrongUsage('--since must be a value that verify printed: a number, a colon and a hash.', `${self()} audit --help`);
  return { seq: Number(seq), hash };
}

function broken(sentence: string): Failure {
  return new Failure(`The audit log was tampered with: ${sentence}.`, `${self()} audit list`);
}

async function readPage(where: Where, after: number, limit: number): Promise<Page> {
  if (where.token === undefined) throw createNoTokenFailure(where);
  const answer = await probe(where.url, `api/audit?after=${after}&limit=${limit}`, where.token);
  if (!answer.answered) throw new Failure(`${where.url} does not answer: ${answer.why}.`, `${self()} doctor`);
  const { status, body } = answer;
  if (status === 401 || status === 403) throw new Failure('The audit log requires a token with scope admin.', `${self()} rpc tokens.list`);
  const found = isObject(body) ? body : {};
  const [records, head] = [AuditRecord.array().safeParse(found['records']), AuditHead.safeParse(found['head'])];
  if (status === 200 && records.success && head.success) {
    return { records: records.data, head: head.data, forged: typeof found['forged'] === 'number' ? found['forged'] : undefined };
  }
  const reason = typeof found['error'] === 'string' ? found['error'] : `HTTP ${status}`;
  throw new Failure(`The audit log cannot be read: ${reason}.`, `${self()} doctor`);
}
