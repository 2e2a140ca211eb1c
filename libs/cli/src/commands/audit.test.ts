import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { linkHash } from '@switchyard/security';
import { runCommand, startServer, TOKEN } from '../command.fixture.ts';

const cwd = tmpdir();
const audit = (url: string, ...args: string[]) => runCommand(['audit', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

type Kept = Record<string, unknown> & { seq: number; prev: string; hash: string };

function getChain(count: number): Kept[] {
  const chain: Kept[] = [];
  for (let seq = 1; seq <= count; seq++) {
    const message = {
      seq,
      id: `audit_${seq}`,
      at: 1763719200000 + seq,
      since: 1763719200000,
      client: 'ops',
      method: 'tokens.revoke',
      kind: 'destructive',
      target: { id: `t${seq}` },
      requestId: 'req_1',
      service: 'secrets',
      replica: 'secrets-1',
      outcome: 'success',
      prev: chain.at(-1)?.hash ?? '',
    };
    chain.push({ ...message, hash: linkHash(message) });
  }
  return chain;
}

/** Starts a server with audit records and an end. */
function serve(records: Kept[], head = records.at(-1)) {
  const answer = (query: URLSearchParams) => {
    const [after, limit] = [Number(query.get('after')), Number(query.get('limit'))];
    return { records: records.filter(({ seq }) => seq > after).slice(0, limit), head: { seq: head?.seq ?? 0, hash: head?.hash ?? '' } };
  };
  return startServer({ api: { '/api/audit': answer } });
}

test('verify reads all pages and prints the end', async () => {
  const chain = getChain(1_200);
  await using server = await serve(chain);
  const { code, stdout, stderr } = await audit(server.url, 'verify');
  assert.deepEqual([code, stdout], [0, '1200 records, whole\n']);
  const end = `1200:${chain.at(-1)?.hash}`;
  assert.ok(stderr.includes(`--since ${end}`));
  assert.deepEqual(JSON.parse((await audit(server.url, 'verify', '--since', end, '-o', 'json')).stdout), {
    whole: true,
    records: 1200,
    end,
  });
});

test('verify detects every kind of change', async () => {
  const chain = getChain(5);
  const swapped = [chain[0], chain[2], chain[1], chain[3], chain[4]] as Kept[];
  const cases: [Kept[], Kept | undefined, string[], RegExp][] = [
    [chain.map((one) => (one.seq === 2 ? { ...one, client: 'other' } : one)), undefined, [], /record 2 was changed/],
    [chain.filter(({ seq }) => seq !== 3), undefined, [], /record 3 is missing/],
    [swapped, undefined, [], /record 2 is missing: after 1 comes 3/],
    [chain.slice(0, 3), chain[4], [], /ends at record 3, but record 5 was written: the records after 3 are missing/],
    [chain.slice(0, 3), undefined, ['--since', `5:${chain[4]?.hash}`], /record 5, whose hash was stored, is missing/],
    [getChain(5).map(rewritten()), undefined, ['--since', `5:${chain[4]?.hash}`], /record 5 does not match/],
    [[], chain[4], [], /ends at record 0, but record 5 was written/],
  ];
  for (const [records, head, flags, found] of cases) {
    await using server = await serve(records, head);
    const { code, stderr } = await audit(server.url, 'verify', ...flags);
    assert.equal(code, 1, String(found));
    assert.match(stderr, found);
  }
});

/** Changes a record and recalculates all hashes. */
function rewritten(): (one: Kept) => Kept {
  let prev = '';
  return (kept) => {
    const { hash: _, ...one } = kept;
    const said = { ...one, client: 'somebody else', prev };
    prev = linkHash(said);
    return { ...said, hash: prev };
  };
}

test('verify reports a record written without the key of the installation', async () => {
  const records = getChain(3);
  await using server = await startServer({
    api: { '/api/audit': () => ({ records, head: { seq: 3, hash: records[2]?.hash ?? '' }, forged: 2 }) },
  });
  const { code, stderr } = await audit(server.url, 'verify');
  assert.deepEqual([code, /record 2 was not signed with the key/.test(stderr)], [1, true]);
});

test('list prints the newest records with their targets', async () => {
  await using server = await serve(getChain(5));
  const { stdout } = await audit(server.url, 'list', '--limit', '2');
  assert.match(stdout, /^4 +2025-11-21T10:00:00 +ops +tokens\.revoke +success +id=t4\n5 .*id=t5\n$/);
  await using single = await serve(getChain(1));
  assert.equal((await audit(single.url, 'verify')).stdout, '1 record, whole\n');
  await using empty = await serve([]);
  assert.match((await audit(empty.url, 'list')).stderr, /The audit log is empty/);
  assert.equal((await audit(empty.url, 'verify')).stdout, '0 records, whole\n');
});

test('rejects a token without scope admin and unknown subcommands', async () => {
  await using server = await serve([]);
  const stranger = await runCommand(['audit', 'list', '--url', server.url], { cwd, env: { SWITCHYARD_TOKEN: 'x'.repeat(40) } });
  assert.match(stranger.stderr, /scope admin/);
  for (const words of [[], ['burn'], ['list', 'x'], ['list', '--limit', '0'], ['verify', '--since', 'x']])
    assert.equal((await audit(server.url, ...words)).code, 2, words.join(' '));
});
