import { AuditHead, AuditRecord } from '@switchyard/contracts';
import { checkChain, linkHash, type Link } from '@switchyard/security';
import { commandHelp } from '../command-help.ts';
import { EXIT, type Command, type Invocation } from '../command.ts';
import { noToken, type Where } from '../context.ts';
import { Failure, wrongUsage } from '../failure.ts';
import { columns, print, printJson, remark } from '../output.ts';
import { isObject } from '../run-file.ts';
import { probe } from '../probe.ts';
import { self } from '../self.ts';

const PAGE = 500;
const LISTED = 20;

const ABOUT = [
  'Shows what was done, as it stands on record, and checks that nobody changed the record.',
  '',
  '  list     the newest acts, oldest first',
  '  verify   reads the whole record and finds any change, any record that is gone or was moved, and an end that was cut off.',
  '           It says where the record ends: keep that elsewhere. Whoever can rewrite all of the database can rewrite the record,',
  '           and --since with what was kept finds that too.',
].join('\n');

export const audit: Command = {
  flags: ['limit', 'since'],
  help: () =>
    commandHelp('audit list|verify', ABOUT, {
      flags: [
        ['--limit <n>', `list: how many; ${LISTED} unless said`],
        ['--since <n>:<hash>', 'verify: an end that was kept; what came before it is as good as it was then'],
      ],
      examples: ['audit list --limit 5', 'audit verify', 'audit verify -o json'],
    }),
  async run(invocation) {
    const [verb, ...more] = invocation.words;
    if (more.length > 0 || (verb !== 'list' && verb !== 'verify')) throw wrongUsage('audit can list and verify.', `${self()} audit --help`);
    return verb === 'list' ? list(invocation) : verify(invocation);
  },
};

interface Page {
  records: AuditRecord[];
  head: AuditHead;
  forged?: number | undefined;
}

async function list({ flags, output, where }: Invocation): Promise<number> {
  const text = flags['limit'] ?? String(LISTED);
  if (!/^[1-9][0-9]{0,2}$/.test(text)) throw wrongUsage(`--limit is a number from 1 to 999, not ${text}.`, `${self()} audit --help`);
  const limit = Number(text);
  const at = where();
  const { head } = await readPage(at, 0, 1);
  const { records } = await readPage(at, Math.max(0, head.seq - limit), limit);
  if (output === 'json') printJson(records);
  else if (records.length === 0) remark('Nothing is on record yet.');
  else print(columns(records.map(shown)));
  return EXIT.done;
}

function shown({ seq, at, client, method, outcome, target }: AuditRecord): string[] {
  const about = Object.entries(target).map(([name, value]) => `${name}=${value}`);
  return [String(seq), new Date(at).toISOString().slice(0, 19), client, method, outcome, about.join(' ')];
}

async function verify({ flags, output, where }: Invocation): Promise<number> {
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
  if (output === 'json') printJson({ whole: true, records: check.at.seq, end });
  else {
    print(`${check.at.seq} ${check.at.seq === 1 ? 'record' : 'records'}, whole\n`);
    if (check.at.seq > 0) remark(`Keep where it ends; later: ${self()} audit verify --since ${end}`);
  }
  return EXIT.done;
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
