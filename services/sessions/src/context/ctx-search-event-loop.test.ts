import { test } from 'node:test';
import { principal, tempDir } from '@switchyard/testkit';
import { assertYields, fill, KEY, MESSAGE_CHARS } from '../event-loop.fixture.ts';
import { testSessions } from '../sessions.fixture.ts';

for (const [name, size] of Object.entries({
  'few long messages': { turns: 10, characters: MESSAGE_CHARS },
  'many short messages': { turns: 300, characters: 2_000 },
})) {
  test(`ctx.search does not block the event loop in a conversation of ${name}`, async () => {
    await using data = await tempDir();
    await fill(data.path, size);
    await using app = await testSessions({ data: data.path });
    const session = await app.host.connect('sessions');
    const bus = session.as(principal({ scopes: ['*'], session: KEY, agent: 'default' }));
    await assertYields('a search for words', () => bus.call('ctx.search', { query: 'w17 w4711 wrapped' }));
    await assertYields('a search with a pattern', () => bus.call('ctx.search', { query: 'w[0-9]+z', mode: 'regex' }));
  });
}
