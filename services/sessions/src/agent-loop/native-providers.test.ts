import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NATIVE_WIRES, startNativeUpstream } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

const cost = { input: 10, output: 1, cacheRead: 1, cacheWrite: 12 };

for (const type of ['anthropic', 'google'] as const)
  test(`a turn with a tool on the native ${type} provider reports prompt, cost and cached tokens`, async () => {
    const { events } = NATIVE_WIRES[type];
    const usage = { input: 100, output: 20, cacheRead: 800 };
    await using upstream = await startNativeUpstream(
      {
        writes: events({ says: [{ call: { id: 'toolu_1', name: 'session_status', input: ['{', '}'] } }], usage: { input: 50, output: 5 } }),
      },
      { writes: events({ says: [{ text: 'All ' }, { text: 'is well.' }], usage }) },
    );
    const house = { type, baseUrl: upstream.url, models: [{ id: 'm', cost }] };
    await using app = await testSessions({
      settings: { providers: { entries: { house } } },
      agents: { default: { provider: 'house', model: 'm' } },
    });
    const sent = app.nextEvent('observability:token_usage');
    const { response } = await app.bus.call('agent.execute', { message: 'how are things?' });
    assert.equal(response, 'All is well.');
    const { tokens, cacheReadTokens, cost: paid } = await sent;
    assert.deepEqual([tokens, cacheReadTokens], [{ prompt: 950, completion: 25, total: 975 }, 800]);
    assert.equal(Math.round(paid.total * 1e6), (50 + 100) * 10 + 800 + 25);
    assert.match(JSON.stringify(upstream.requests[1]?.body), /session_status.*(tool_result|functionResponse)/);
  });
