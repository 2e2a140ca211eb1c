import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { FirstToken } from '@switchyard/secrets';
import { checkToken } from '@switchyard/security';
import { tempDir } from '@switchyard/testkit';
import { firstToken } from './first-token.ts';

/** A stand-in for the tokens of an installation. */
function createTokens(accepted: string[], { granting = false, late = false } = {}): FirstToken {
  return {
    accepts: async (secret) => accepted.includes(secret),
    async admit(mint) {
      if (granting) return undefined;
      const secret = mint();
      if (late) return undefined; // another process was faster
      accepted.push(secret);
      return secret;
    },
  };
}

const of = (dir: string, environmentToken: string | undefined, tenant = 'default') => ({ dir, tenant, environmentToken });
const saved = (dir: string): string => readFileSync(`${dir}/token`, 'utf8').trim();

test('mints the first token once, with mode 0600, and finds it again', async () => {
  await using dir = await tempDir();
  const tokens = createTokens([]);
  const token = (await firstToken(of(dir.path, undefined), tokens)) ?? '';
  assert.equal(checkToken(token), 'valid');
  assert.equal(statSync(`${dir.path}/token`).mode & 0o777, 0o600);
  assert.equal(saved(dir.path), token);
  assert.equal(await firstToken(of(dir.path, undefined), tokens), token);
});

test('writes the file before the token becomes valid', async () => {
  await using dir = await tempDir();
  const dies: FirstToken = {
    accepts: async () => false,
    async admit(mint) {
      const minted = mint();
      assert.equal(saved(dir.path), minted);
      throw new Error('the process dies here');
    },
  };
  await assert.rejects(firstToken(of(dir.path, undefined), dies), /dies here/);
  const left = saved(dir.path);
  assert.notEqual(await firstToken(of(dir.path, undefined), createTokens([])), left, 'a token that never became valid is not used');
});

test('keeps an invalid saved token in its file while others have full access', async () => {
  await using dir = await tempDir();
  writeFileSync(`${dir.path}/token`, 'rotated away\n');
  assert.equal(await firstToken(of(dir.path, undefined), createTokens([], { granting: true })), undefined);
  assert.equal(saved(dir.path), 'rotated away');
  assert.notEqual(await firstToken(of(dir.path, undefined), createTokens([])), 'rotated away');
});

test('removes the file if another process was faster', async () => {
  await using dir = await tempDir();
  assert.equal(await firstToken(of(dir.path, undefined), createTokens([], { late: true })), undefined);
  assert.equal(existsSync(`${dir.path}/token`), false);
});

test('saves the token of the operator unless the saved one is valid', async () => {
  await using dir = await tempDir();
  const [chosen, other] = ['o'.repeat(40), 'p'.repeat(40)];
  assert.equal(await firstToken(of(dir.path, chosen), createTokens([chosen])), chosen);
  assert.equal(saved(dir.path), chosen);
  assert.equal(await firstToken(of(dir.path, other), createTokens([chosen, other])), chosen);
  assert.equal(await firstToken(of(dir.path, other), createTokens([other])), other);
});

test('keeps the token of each tenant when tenantId changes', async () => {
  await using dir = await tempDir();
  const [before, acme, sons] = [['of an earlier version'], [] as string[], [] as string[]];
  writeFileSync(`${dir.path}/token`, 'of an earlier version\n', { mode: 0o600 });
  const start = (tenant: string, accepted: string[]) =>
    firstToken(of(dir.path, undefined, tenant), createTokens(accepted, { granting: accepted.length > 0 }));
  const first = await start('acme & sons', acme);
  assert.notEqual(first, 'of an earlier version');
  const second = await start('../sons', sons);
  assert.notEqual(second, first);
  assert.equal(await start('acme & sons', acme), first);
  assert.equal(saved(dir.path), first, 'the command reads the token of the running tenant');
  assert.equal(await start('default', before), 'of an earlier version');
  assert.equal(await start('../sons', sons), second);
  assert.equal(await start('default', before), 'of an earlier version');
  for (const name of readdirSync(dir.path)) assert.equal(statSync(`${dir.path}/${name}`).mode & 0o777, 0o600, name);
});
