import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashToken, mintToken } from '@switchyard/security';
import { tempDir } from '@switchyard/testkit';
import { ENV, collectingLog, openData, projected, root, start, stored } from '../secrets.fixture.ts';
import { createFirstToken, type FirstToken } from './first-token.ts';

/** Acts as the launcher. */
function launcher() {
  const minted: string[] = [];
  let admitted: string | undefined;
  const firstToken = async (tokens: FirstToken): Promise<void> => {
    admitted = await tokens.admit(() => {
      minted.push(mintToken('pat').token);
      return minted.at(-1) ?? '';
    });
  };
  return { minted, firstToken, admitted: () => admitted };
}

test('the first start mints an ordinary token, and later starts mint none', async () => {
  await using data = await tempDir();
  const first = launcher();
  {
    await using app = await start({ data: data.path, env: {}, firstToken: first.firstToken });
    const seen = (await projected(app)).get('default.first');
    assert.deepEqual([seen?.hash, seen?.scopes, seen?.client], [hashToken(first.admitted() ?? ''), ['*'], 'first']);
    assert.equal((await app.bus.call('tokens.list', {})).tokens[0]?.declared, undefined);
    await app.bus.call('tokens.rotate', { id: 'first' });
    await app.bus.call('tokens.create', { id: 'mine', scopes: ['*'] });
    await app.bus.call('tokens.revoke', { id: 'first' });
  }
  const later = launcher();
  await using again = await start({ data: data.path, env: {}, firstToken: later.firstToken });
  assert.deepEqual([later.minted, later.admitted()], [[], undefined]);
  assert.deepEqual([...(await projected(again)).keys()], ['default.mine']);
});

test('mints no token while one is declared, and mints one after the declaration is removed', async () => {
  await using data = await tempDir();
  const declared = launcher();
  await (await start({ data: data.path, firstToken: declared.firstToken }))[Symbol.asyncDispose]();
  assert.deepEqual(declared.minted, []);
  const alone = launcher();
  await using app = await start({ data: data.path, env: {}, firstToken: alone.firstToken });
  assert.equal(alone.minted.length, 1);
  assert.deepEqual([...(await projected(app)).keys()], ['default.first']);
});

test('SWITCHYARD_TOKEN restores access after all tokens are lost', async () => {
  await using data = await tempDir();
  const first = launcher();
  await (await start({ data: data.path, env: {}, firstToken: first.firstToken }))[Symbol.asyncDispose]();
  await using app = await start({ data: data.path, env: { SWITCHYARD_TOKEN: ENV } });
  assert.deepEqual([...(await projected(app)).keys()].sort(), ['default.env', 'default.first']);
});

test('one of several replicas that start at once mints the first token, also if its id is taken', async () => {
  for (const present of [[], [stored('first', { scopes: ['rpc'] })]]) {
    await using app = await start({ env: {} });
    await using data = await openData(app);
    const documents = data.tokens.for(root);
    for (const token of present) await documents.insert(token);
    const tokens = createFirstToken(documents, { now: () => 1 });
    const launchers = Array.from({ length: 10 }, launcher);
    await Promise.all(launchers.map(({ firstToken }) => firstToken(tokens)));
    assert.equal(launchers.filter(({ admitted }) => admitted() !== undefined).length, 1);
    const winner = launchers.find(({ admitted }) => admitted() !== undefined);
    assert.equal(await tokens.accepts(winner?.admitted() ?? ''), true);
    assert.equal(await documents.count({}), present.length + 1);
  }
});

test('accepts() rejects a rotated secret and the secret of another tenant', async () => {
  await using app = await start({ env: {} });
  await using data = await openData(app);
  await data.tokens.for({ tenant: 'acme' }).insert(stored('theirs', { hash: hashToken('theirs') }));
  await data.tokens.for(root).insert(stored('mine', { hash: hashToken('mine') }));
  const tokens = createFirstToken(data.tokens.for(root), { now: () => 1 });
  assert.deepEqual(await Promise.all(['mine', 'theirs', 'nobody’s'].map(tokens.accepts)), [true, false, false]);
  await app.bus.call('tokens.rotate', { id: 'mine' });
  assert.equal(await tokens.accepts('mine'), false);
});

test('logs the remedy if no token has full access and none is minted', async () => {
  const kept = collectingLog();
  await using _app = await start({ env: {}, log: kept.log });
  assert.match(kept.text(), /no token has full access.*SWITCHYARD_TOKEN/);
});
