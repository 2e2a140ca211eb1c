import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { connectBus, createMemoryHub } from '@switchyard/bus';
import { Configuration } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';
import { writeEventFiles } from './event-files.ts';

const settings = Configuration.parse({ observability: { logRotation: { maxSizeBytes: 400, maxFiles: 2 } } });
const AT = Date.UTC(2026, 0, 31, 12);
const sessionKey = { tenantId: 'default', userId: 'ada', channelId: 'gateway' };

test('writes changes and sessions to bounded files', async () => {
  await using dir = await tempDir();
  const hub = createMemoryHub();
  const [writer, reader] = [
    await connectBus('memory:', { hub, service: 'registry', log: silentLogger() }),
    await connectBus('memory:', { hub, service: 'gateway', log: silentLogger() }),
  ];
  {
    await using _records = writeEventFiles({ bus: reader, settings, data: dir.path });
    writer.emit('config:patched', { section: 'gateway', key: 'port', patchedBy: 'ops', timestamp: AT });
    const act = { agentId: 'ops', tenantId: 'default', classification: 'destructive' as const, outcome: 'success' as const, metadata: {} };
    writer.emit('audit:event', { ...act, actionType: 'tokens.revoke', timestamp: AT });
    writer.emit('audit:event', { ...act, actionType: 'memory.flush', timestamp: AT });
    const looked = { ...act, classification: 'read' as const, metadata: { count: 3 } };
    writer.emit('audit:event', { ...looked, actionType: 'config.read', timestamp: AT });
    for (const timestamp of [AT, AT + 86_400_000]) writer.emit('session:created', { sessionKey, timestamp });
    await Promise.all([writer.flush(), reader.flush()]);
  }
  const files = readdirSync(`${dir.path}/logs`).sort();
  assert.deepEqual(files, ['config-audit.jsonl', 'session-index.2026-01-31.jsonl', 'session-index.2026-02-01.jsonl']);
  const lines = readFileSync(`${dir.path}/logs/config-audit.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    lines.map(({ event, actionType, section }) => [event, actionType ?? section]),
    [
      ['config:patched', 'gateway'],
      ['audit:event', 'tokens.revoke'],
    ],
  );
  {
    await using other = await tempDir();
    await using _without = writeEventFiles({
      bus: reader,
      settings: Configuration.parse({ security: { auditLog: false } }),
      data: other.path,
    });
    writer.emit('config:patched', { section: 'gateway', patchedBy: 'ops', timestamp: AT });
    writer.emit('session:created', { sessionKey, timestamp: AT });
    await Promise.all([writer.flush(), reader.flush()]);
    assert.deepEqual(readdirSync(`${other.path}/logs`), ['session-index.2026-01-31.jsonl'], 'security.auditLog');
  }
  await using _again = writeEventFiles({ bus: reader, settings, data: dir.path });
  for (let n = 0; n < 40; n++) writer.emit('config:patched', { section: 'gateway', patchedBy: `ops ${n}`, timestamp: AT });
  await Promise.all([writer.flush(), reader.flush()]);
  await _again[Symbol.asyncDispose]();
  assert.equal(readdirSync(`${dir.path}/logs`).filter((name) => name.startsWith('config-audit.jsonl.')).length, 2);
});
