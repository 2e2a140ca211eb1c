import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contracts, type EventPayload } from '@switchyard/contracts';
import { principal } from '@switchyard/testkit';
import { testScheduler } from '../scheduler.fixture.ts';
import { readTasks } from './task-reply.ts';

const enabled = { scheduler: { tasks: { enabled: true } } };
const offer = { title: 'Send the offer', description: 'To the customer.', priority: 'high', confidence: 0.9 } as const;
const reply = (tasks: readonly object[]) => ({
  result: { response: JSON.stringify(tasks), tokensUsed: { input: 1, output: 1, total: 2 }, finishReason: 'stop' as const },
});

type App = Awaited<ReturnType<typeof testScheduler>>;

async function endConversation(app: App, more: Partial<EventPayload<'turn:ended'>> = {}): Promise<void> {
  const sessions = await app.host.connect('sessions');
  const example = contracts.sessions.events['turn:ended'].example as EventPayload<'turn:ended'>;
  sessions.as(principal()).emit('turn:ended', { ...example, ...more });
  await sessions.flush();
}

test('a conversation turn is read by a model, and its tasks are published and read by the next heartbeat', async () => {
  await using app = await testScheduler({
    settings: enabled,
    agent: { scheduler: { heartbeat: { prompt: 'Look.', intervalMs: 3_600_000 } } },
  });
  await endConversation(app);
  const order = await app.turns.next();
  assert.deepEqual(
    [order.kind, order.client, order.tools, order.limits],
    ['extraction', 'scheduler/tasks', { profile: 'minimal', deny: ['*'] }, { steps: 1 }],
  );
  assert.equal(order.context?.[0]?.text, 'user: Please remind me to send the offer.\n\nassistant: I will.');
  app.turns.end(order.turnId, reply([offer, { ...offer, title: 'Perhaps', confidence: 0.5 }, { title: 'no task' }]));
  const { agentId, task } = await app.nextEvent('scheduler:task_extracted');
  assert.deepEqual(
    [agentId, task.title, task.status, task.source.sessionKey],
    ['default', offer.title, 'pending', 'default:alice:gateway'],
  );
  await app.bus.call('heartbeat.trigger', { agentId: 'default' });
  const beat = await app.turns.next();
  assert.deepEqual(beat.context, [{ title: 'Event from task extraction', text: 'Send the offer (priority high)\nTo the customer.' }]);
  app.turns.end(beat.turnId);
});

test('the same turn is read once, and the same task of a conversation is published once', async () => {
  await using app = await testScheduler({ settings: enabled });
  await endConversation(app);
  app.turns.end((await app.turns.next()).turnId, reply([offer]));
  await app.nextEvent('scheduler:task_extracted');
  await endConversation(app);
  await endConversation(app, { turnId: 'turn_0000000000000000000001' });
  app.turns.end((await app.turns.next()).turnId, reply([offer, { ...offer, title: 'Call back' }]));
  assert.equal((await app.nextEvent('scheduler:task_extracted')).task.title, 'Call back');
  assert.equal(app.turns.orders.size, 2);
});

test('turns of jobs, failed turns and turns while tasks are off are not read', async () => {
  await using app = await testScheduler();
  await endConversation(app);
  await using other = await testScheduler({ settings: enabled });
  await endConversation(other, { kind: 'cron', turnId: 'turn_0000000000000000000001' });
  await endConversation(other, { state: 'failed', turnId: 'turn_0000000000000000000002' });
  await endConversation(other, { turnId: 'turn_0000000000000000000003' });
  const order = await other.turns.next();
  assert.equal(order.origin.ref, 'turn_0000000000000000000003');
  other.turns.end(order.turnId, reply([]));
  assert.equal(app.turns.orders.size, 0);
});

test('readTasks reads a list within other text, and nothing from a reply without one', () => {
  assert.deepEqual(readTasks(`Here:\n\`\`\`json\n${JSON.stringify([offer])}\n\`\`\``, 0.8), [offer]);
  for (const text of ['', 'none', '{}', '[1', '[{"title": ""}]']) assert.deepEqual(readTasks(text, 0), []);
});
