import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { assertPasteable, runCommand, type Behaviour } from '../../command.fixture.ts';
import type { Check } from './check.ts';

/** The folder of the test file. It is removed after the tests. */
export const root = mkdtempSync(join(tmpdir(), 'doctor-'));
after(() => rmSync(root, { recursive: true }));

/** Creates the data directory of a server, with a saved token. */
export function freshData(url: string, token?: string): string {
  const data = mkdtempSync(join(root, 'data-'));
  writeFileSync(join(data, 'run.json'), JSON.stringify({ url, processes: [] }));
  if (token !== undefined) writeFileSync(join(data, 'token'), token, { mode: 0o600 });
  return data;
}

/** Runs `switchyard doctor` and checks that each remedy can be pasted. */
export async function examine(data: string, url: string): Promise<{ code: number | null; ok: boolean; checks: Map<string, Check> }> {
  const { code, stdout } = await runCommand(['doctor', '-o', 'json', '--url', url], { cwd: root, env: { SWITCHYARD_DATA: data } });
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] };
  for (const { next } of checks) {
    if (next === undefined) continue;
    assertPasteable(next);
    assert.doesNotMatch(next, /switchyard'? doctor/);
  }
  return { code, ok, checks: new Map(checks.map((check) => [check.name, check])) };
}

/** A server with these providers. */
export function serving(providers: string[], ts = () => Date.now()): Behaviour {
  return { call: ({ method }) => (method === 'system.ping' ? { pong: true, ts: ts() } : { providers, count: providers.length }) };
}
