import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IMMUTABLE_PATHS, isImmutable, isOperatorOnly, MUTABLE_EXCEPTIONS, mutableAlternatives, writtenPaths } from './immutable.ts';
import { ConfigurationPatch } from './sections.ts';

test('a path is immutable with everything below it, and above it when a write would replace it', () => {
  for (const path of ['security', 'security.secrets.enabled', 'gateway.tls', 'gateway.tls.certPath', 'gateway.port', 'agents.oslo.name']) {
    assert.equal(isImmutable(path), true, path);
  }
  assert.equal(isImmutable('gateway'), true, 'replacing gateway replaces gateway.port');
  assert.equal(isImmutable('daemon'), true);
  assert.equal(isImmutable('gateway.portal'), false, 'a name that only begins alike');
  for (const path of ['gateway.rateLimit.maxRequests', 'queue', 'logLevel', 'models.dev']) assert.equal(isImmutable(path), false, path);
});

test('exceptions are writable with all beneath them, and nothing above them', () => {
  for (const path of [
    'agents.oslo.model',
    'agents.oslo.operationModels.cron.model',
    'integrations.mcp.servers',
    'channels.irc.mediaProcessing',
  ]) {
    assert.equal(isImmutable(path), false, path);
  }
  for (const path of ['agents.oslo', 'agents.oslo.skills', 'integrations.mcp', 'channels.irc']) assert.equal(isImmutable(path), true, path);
});

test('an unknown section is not writable', () => {
  for (const path of ['', 'tooling.x', '__proto__.x', 'toString']) assert.equal(isImmutable(path), true, path);
});

test('the dashboard directory is set by file or environment only', () => {
  assert.equal(isImmutable('gateway.web.path'), true);
  assert.equal(isImmutable('gateway.web'), true);
  assert.equal(isImmutable('gateway.web.enabled'), false);
});

test('the log level is the only root key that methods can change', () => {
  assert.deepEqual(
    ['tenantId', 'logLevel', 'dataDir', 'agentDir'].map((path) => isImmutable(path)),
    [true, false, true, true],
  );
});

test('a model provider can be added live', () => {
  assert.equal(isImmutable('providers.entries.local.baseUrl'), false);
  assert.equal(isImmutable('providers'), true);
});

test('an operator can open an immutable path, but neither the sandbox nor the list of what is open', () => {
  const open = ['gateway.host', 'agents', 'channels.*.enabled', 'config'];
  for (const path of ['gateway.host', 'agents.oslo.name', 'channels.irc.enabled']) {
    assert.equal(isImmutable(path), true, path);
    assert.equal(isImmutable(path, open), false, path);
  }
  for (const path of ['gateway.port', 'agents.oslo.skills', 'agents.oslo.skills.execSandbox.enabled', 'config.immutableOverrides'])
    assert.equal(isImmutable(path, open), true, path);
  assert.equal(isOperatorOnly('config.immutableOverrides'), true);
});

test('no method loosens the sandbox', () => {
  assert.equal(isOperatorOnly('agents.oslo.skills.execSandbox.enabled'), true);
  assert.equal(isOperatorOnly('agents.oslo.skills.toolPolicy.allow'), false);
});

test('a patch writes its leaves; lists are leaves', () => {
  assert.deepEqual(writtenPaths({ gateway: { tokens: [{ id: 'a' }], web: { enabled: false } }, logLevel: 'debug', queue: null }), [
    'gateway.tokens',
    'gateway.web.enabled',
    'logLevel',
    'queue',
  ]);
});

test('a refusal offers what can be done instead', () => {
  assert.deepEqual(mutableAlternatives('gateway.tokens'), ['tokens.create, tokens.rotate, tokens.revoke']);
  assert.ok(mutableAlternatives('agents.oslo.name').includes('agents.*.model'));
  assert.deepEqual(mutableAlternatives('security.auditLog'), []);
});

test('every listed path is a key of the configuration', () => {
  for (const path of [...IMMUTABLE_PATHS, ...MUTABLE_EXCEPTIONS]) {
    const names = path.replace('agents.*', 'agents.oslo').replace('channels.*', 'channels.irc').split('.');
    const nested = names.reduceRight<unknown>((value, name) => ({ [name]: value }), undefined);
    const issues = ConfigurationPatch.safeParse(nested).error?.issues ?? [];
    assert.ok(!issues.some(({ code }) => code === 'unrecognized_keys'), path);
  }
});
