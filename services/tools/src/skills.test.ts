import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { bucketKey, OFFERED_TOOLS_BUCKET, OfferedTools, type OfferedTool, type Principal } from '@switchyard/contracts';
import { principal, startMongo, tempDir, type MongoServer, type TestService } from '@switchyard/testkit';
import { putAgent, skillText, testTools } from './tools.fixture.ts';

async function listOffered(app: TestService, tenant: string, agentId = 'default'): Promise<OfferedTool[]> {
  const entry = await (await app.bus.kv(OFFERED_TOOLS_BUCKET)).get(bucketKey(tenant, agentId));
  return entry?.value ? OfferedTools.parse(JSON.parse(Buffer.from(entry.value).toString())).tools : [];
}

const NOT_FOUND = { code: 'NOT_FOUND' };

/** Tests for every database. Each test has its own tenant with the agents `default` and `oslo`. */
function onStore(name: string, open: () => Promise<TestService>): void {
  describe(`skills on ${name}`, () => {
    let app: TestService;
    before(async () => void (app = await open()));
    after(() => app[Symbol.asyncDispose]());

    async function newTenant(oslo: object = {}) {
      const tenant = `t-${randomUUID()}`;
      await putAgent(app.bus, 'default', {}, tenant);
      await putAgent(app.bus, 'oslo', oslo, tenant);
      const as = (more: Partial<Principal> = {}) => app.bus.as(principal({ scopes: ['*'], tenant, ...more }));
      const sessions = await app.host.connect('sessions');
      return {
        tenant,
        as,
        bus: as(),
        names: async (agentId?: string) =>
          (await as().call('skills.list', agentId === undefined ? {} : { agentId })).skills.map((one) => one.name),
        offered: async (agentId?: string) => (await listOffered(app, tenant, agentId)).map((tool) => tool.name),
        use: (tool: string, input: unknown = {}, agent = 'default') =>
          sessions.as(principal({ tenant, agent })).call('tools.use', { name: tool, input }),
        invoke: (skill: string, args = '', agentId = 'default') =>
          sessions.as(principal({ tenant })).call('skills.use', { agentId, name: skill, arguments: args }),
      };
    }

    test('a created skill is listed, offered, used and deleted', async () => {
      const { tenant, bus, names, use, offered } = await newTenant();
      const content = skillText('release-notes', { allowedTools: ['session_search'], argumentHint: '<tag>' });
      const created = await bus.call('skills.create', { name: 'release-notes', content });
      assert.deepEqual(created, { ok: true, path: 'skills/release-notes', name: 'release-notes' });
      assert.deepEqual((await bus.call('skills.list', {})).skills, [
        { name: 'release-notes', description: 'Does release-notes.', location: 'skills/release-notes', source: 'local' },
      ]);
      const [tool] = await listOffered(app, tenant);
      assert.deepEqual(
        [tool?.name, tool?.group, tool?.provider, tool?.effect, tool?.readOnly],
        ['skill__release-notes', 'skills', 'release-notes', 'read', true],
      );
      assert.match(tool?.description ?? '', /Does release-notes\./);
      assert.deepEqual(await use('skill__release-notes', { arguments: 'v2' }), {
        failed: false,
        result: {
          skill: 'release-notes',
          instructions: 'Read the commits since the last tag.\n\nArguments: v2',
          allowedTools: ['session_search'],
        },
      });
      assert.deepEqual(await bus.call('skills.delete', { name: 'release-notes' }), { ok: true });
      assert.deepEqual([await names(), await offered()], [[], []]);
      await assert.rejects(use('skill__release-notes'), NOT_FOUND);
      await assert.rejects(bus.call('skills.delete', { name: 'release-notes' }), NOT_FOUND);
      assert.equal((await bus.call('skills.create', { name: 'release-notes', content })).ok, true, 'the name is free again');
      assert.deepEqual(await names(), ['release-notes']);
    });

    test('a skill exists once: create refuses, force replaces it whole, update keeps its other files', async () => {
      const { bus, invoke } = await newTenant();
      const files = [
        { path: 'SKILL.md', content: skillText('deploy', { body: 'One.' }) },
        { path: 'docs/steps.md', content: 'Build, test, ship.' },
      ];
      assert.deepEqual(await bus.call('skills.upload', { name: 'deploy', files }), { ok: true, path: 'skills/deploy' });
      await assert.rejects(bus.call('skills.create', { name: 'deploy', content: skillText('deploy') }), { code: 'ALREADY_EXISTS' });
      await assert.rejects(bus.call('skills.upload', { name: 'deploy', files }), { code: 'ALREADY_EXISTS' });
      await bus.call('skills.update', { name: 'deploy', content: skillText('deploy', { body: 'Two.' }) });
      assert.deepEqual(await invoke('deploy'), { skill: 'deploy', instructions: 'Two.', files: ['docs/steps.md'] });
      await bus.call('skills.create', { name: 'deploy', content: skillText('deploy', { body: 'Three.' }), force: true });
      assert.deepEqual(await invoke('deploy'), { skill: 'deploy', instructions: 'Three.' });
      await assert.rejects(bus.call('skills.update', { name: 'other', content: skillText('other') }), NOT_FOUND);
    });

    test('the tool of a skill reads its other files, and only those', async () => {
      const { bus, use } = await newTenant();
      const content = skillText('deploy');
      await bus.call('skills.upload', {
        name: 'deploy',
        files: [
          { path: 'SKILL.md', content },
          { path: 'docs/steps.md', content: 'Build, test, ship.' },
        ],
      });
      const read = (file: string) => use('skill__deploy', { file });
      assert.deepEqual(await read('docs/steps.md'), { failed: false, result: { file: 'docs/steps.md', content: 'Build, test, ship.' } });
      for (const file of ['docs/../docs/steps.md', '/etc/passwd', '../default/deploy/SKILL.md', ''])
        await assert.rejects(read(file), { code: 'NOT_FOUND', message: /Files: docs\/steps\.md/ });
    });

    test('an agent has its own skills and the shared ones; its own hide those of the same name', async () => {
      const { bus, names, offered, use } = await newTenant();
      await bus.call('skills.create', { name: 'deploy', content: skillText('deploy', { body: 'Shared.' }), scope: 'shared' });
      await bus.call('skills.create', { name: 'triage', content: skillText('triage'), agentId: 'oslo' });
      await bus.call('skills.create', { name: 'deploy', content: skillText('deploy', { body: 'Own.' }), agentId: 'oslo' });
      assert.deepEqual([await names(), await names('oslo')], [['deploy'], ['deploy', 'triage']]);
      const listShared = async (agentId: string) => (await bus.call('skills.list', { agentId })).skills.map(({ shared }) => shared);
      assert.deepEqual([await listShared('default'), await listShared('oslo')], [[true], [undefined, undefined]]);
      assert.deepEqual(await offered('oslo'), ['skill__deploy', 'skill__triage']);
      const text = async (agent: string) => ((await use('skill__deploy', {}, agent)).result as { instructions: string }).instructions;
      assert.deepEqual([await text('default'), await text('oslo')], ['Shared.', 'Own.']);
      await assert.rejects(use('skill__triage', {}, 'default'), NOT_FOUND);
      const shared = bus.call('skills.create', { name: 'x', content: skillText('x'), scope: 'shared', agentId: 'oslo' });
      await assert.rejects(shared, {
        code: 'PERMISSION_DENIED',
        message: /^scope: only the default agent default may share skills, got the agent oslo/,
      });
    });

    test('a tenant sees no skill of another, and an agent and a token only their own agents', async () => {
      const [ours, theirs] = [await newTenant(), await newTenant()];
      await ours.bus.call('skills.create', { name: 'deploy', content: skillText('deploy') });
      assert.deepEqual([await theirs.names(), await theirs.offered()], [[], []]);
      await assert.rejects(theirs.invoke('deploy'), NOT_FOUND);
      await assert.rejects(theirs.bus.call('skills.delete', { name: 'deploy' }), NOT_FOUND);
      await assert.rejects(ours.as({ agent: 'oslo' }).call('skills.list', { agentId: 'default' }), { code: 'PERMISSION_DENIED' });
      const limited = ours.as({ agents: ['default'] }).call('skills.create', { name: 'x', content: skillText('x'), scope: 'shared' });
      await assert.rejects(limited, { code: 'PERMISSION_DENIED', message: /only a token for all agents may share skills/ });
      const oslo = ours.as({ agents: ['oslo'] });
      await assert.rejects(oslo.call('skills.list', { agentId: 'default' }), { code: 'PERMISSION_DENIED' });
      assert.deepEqual((await oslo.call('skills.list', {})).skills, [], 'the agent of the token, not the default agent');
      await assert.rejects(ours.bus.call('skills.list', { agentId: 'bergen' }), NOT_FOUND);
    });

    test('the settings of an agent choose its skills, and a change is offered', async () => {
      const { tenant, bus, names, offered, invoke } = await newTenant({ skills: { promptSkills: { deniedSkills: ['deploy'] } } });
      for (const skill of ['deploy', 'triage'])
        await bus.call('skills.create', { name: skill, content: skillText(skill), scope: 'shared' });
      assert.deepEqual([await names('oslo'), await offered('oslo')], [['triage'], ['skill__triage']]);
      const denied = { code: 'FAILED_PRECONDITION', message: /deniedSkills of the agent excludes it/ };
      await assert.rejects(invoke('deploy', '', 'oslo'), denied);
      const changed = new Promise<void>((resolve) => {
        void app.bus.kv(OFFERED_TOOLS_BUCKET).then((bucket) =>
          bucket.watch(({ key, value }) => {
            if (key === bucketKey(tenant, 'oslo') && value && Buffer.from(value).includes('skill__deploy')) resolve();
          }),
        );
      });
      await putAgent(app.bus, 'oslo', { skills: { promptSkills: { allowedSkills: ['deploy'] } } }, tenant);
      await changed;
      assert.deepEqual([await names('oslo'), await offered('oslo')], [['deploy'], ['skill__deploy']]);
    });

    test('a skill can be kept from models, or from users', async () => {
      const { bus, offered, use, invoke } = await newTenant();
      await bus.call('skills.create', { name: 'quiet', content: skillText('quiet', { disableModelInvocation: true }) });
      await bus.call('skills.create', { name: 'inner', content: skillText('inner', { userInvocable: false }) });
      assert.deepEqual(await offered(), ['skill__inner']);
      const { skills } = await bus.call('skills.list', {});
      assert.deepEqual(
        skills.map(({ name, disableModelInvocation, userInvocable }) => [name, disableModelInvocation, userInvocable]),
        [
          ['inner', undefined, false],
          ['quiet', true, undefined],
        ],
      );
      await assert.rejects(use('skill__quiet'), { code: 'FAILED_PRECONDITION', message: /only users invoke it/ });
      await assert.rejects(invoke('inner'), { code: 'FAILED_PRECONDITION', message: /only models invoke it/ });
    });

    test('simultaneous writes leave one whole version', async () => {
      const { bus, invoke } = await newTenant();
      const writes = Array.from({ length: 8 }, (_, n) =>
        bus.call('skills.create', { name: 'race', content: skillText('race', { description: `v${n}`, body: `v${n}` }), force: true }),
      );
      await Promise.all(writes);
      const [skill] = (await bus.call('skills.list', {})).skills;
      assert.equal((await invoke('race')).instructions, skill?.description);
      const creates = Array.from({ length: 8 }, () => bus.call('skills.create', { name: 'once', content: skillText('once') }));
      const outcomes = await Promise.allSettled(creates);
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const outcome of outcomes)
        if (outcome.status === 'rejected') assert.equal((outcome.reason as { code: string }).code, 'ALREADY_EXISTS');
    });
  });
}

onStore('SQLite', () => testTools());

let server: MongoServer | undefined;
onStore('MongoDB', async () => {
  server = await startMongo();
  return testTools({ env: { SWITCHYARD_STORE: server.url } });
});
after(() => server?.stop());

test('skills survive a restart, which offers them again', async () => {
  await using data = await tempDir();
  {
    await using app = await testTools({ data: data.path });
    await app.bus.call('skills.create', { name: 'deploy', content: skillText('deploy') });
  }
  await using app = await testTools({ data: data.path });
  assert.deepEqual(
    (await listOffered(app, 'default')).map(({ name }) => name),
    ['skill__deploy'],
  );
});

test('each change is an event, and is audited', async () => {
  await using app = await testTools();
  await app.bus.call('skills.create', { name: 'deploy', content: skillText('deploy') });
  const { skillName, source } = await app.nextEvent('skill:loaded');
  assert.deepEqual([skillName, source], ['deploy', 'local']);
  assert.equal((await app.nextEvent('skill:registry_reset')).clearedMetadata, 1);
  const sessions = (await app.host.connect('sessions')).as(principal());
  await sessions.call('skills.use', { agentId: 'default', name: 'deploy' });
  const executed = await app.nextEvent('skill:executed');
  assert.deepEqual([executed.skillName, executed.success], ['deploy', true]);
  await app.bus.call('skills.delete', { name: 'deploy' });
  await app.nextEvent('skill:registry_reset');
  assert.deepEqual(
    app.audited.map(({ method }) => method),
    ['skills.create', 'skills.delete'],
  );
});
