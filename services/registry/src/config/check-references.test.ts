import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal, testService } from '@switchyard/testkit';
import { registry } from '../service.ts';

const ops = principal({ client: 'ops', scopes: ['*'] });

test('rejects stored references to variables of secrets or addresses unless config.references names them exactly', async () => {
  const env = { DEPLOY_KEY: 'of the house', DATABASE_URL: 'mongodb://u:p@db', HOME_OF_OSLO: 'dev/slow', SECOND_TOKEN: 'dev/echo' };
  await using app = await testService(registry, {
    as: ops,
    env,
    settings: { config: { references: ['HOME_*', '*_KEY', 'SECOND_TOKEN'] } },
  });
  const refused = { code: 'FAILED_PRECONDITION', details: { reason: 'REFERENCE_NOT_ALLOWED' } };
  for (const name of ['DEPLOY_KEY', 'DATABASE_URL', 'LANG']) {
    const text = `\${${name}}`;
    await assert.rejects(app.bus.call('config.patch', { agents: { default: { model: text } } }), refused, name);
    await assert.rejects(app.bus.call('config.set', { section: 'gateway', key: 'corsOrigins', value: ['http://x', text] }), refused, name);
    await assert.rejects(app.bus.call('agents.create', { name: 'oslo', model: text }), {
      ...refused,
      message: new RegExp(`^model references the variable ${name}`),
    });
    await assert.rejects(app.bus.call('agents.update', { agentId: 'default', reactionLevel: 'minimal', model: text }), refused, name);
    const dry = await app.bus.call('agents.update', { agentId: 'default', model: text, dryRun: true });
    assert.match(JSON.stringify(dry), /which config.references does not/);
    assert.doesNotMatch(JSON.stringify(dry), /of the house|mongodb/);
  }
  await app.bus.call('config.patch', { agents: { default: { model: '${HOME_OF_OSLO}' } } });
  await app.bus.call('config.patch', { agents: { default: { model: '${SECOND_TOKEN}' } } });
  await app.bus.call('config.patch', { logLevel: 'warn' }); // existing references do not block other writes
  const widened = app.bus.call('config.patch', { config: { references: ['DEPLOY_KEY'] } });
  await assert.rejects(widened, { code: 'FAILED_PRECONDITION', details: { reason: 'IMMUTABLE' } });
});
