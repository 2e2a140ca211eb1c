import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  createCheckout,
  documented,
  EXCEPTIONS,
  findCommands,
  findException,
  runDocumented,
  runnable,
  testCommandsOf,
} from './documented-commands.ts';
import { startEmbedded } from './embedded.ts';

testCommandsOf((file) => file === 'README.md');

test('each documented command is run or has an exception', () => {
  const others = documented.filter((command) => !runnable.includes(command) && findException(command) === undefined);
  assert.deepEqual(others, []);
});

test('each exception is of a documented command', () => {
  for (const [pattern] of EXCEPTIONS)
    assert.ok(
      documented.some(({ text: command }) => pattern.test(command)),
      String(pattern),
    );
  assert.ok(documented.length > 60, `${documented.length} commands`);
});

test('the README shows five ways to send a turn', () => {
  const [, chapter = ''] =
    /^## A first turn, five ways$([^]*?)^## /m.exec(readFileSync(new URL('../../README.md', import.meta.url), 'utf8')) ?? [];
  assert.equal(findCommands('README.md', chapter).length, 5);
});

test('the README names the base URL for OpenAI clients and the command that prints it', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  assert.match(readme, /`bin\/switchyard url --openai` \(`<address>\/openai\/v1`\)/);
});

test('the commands of the banner work', async () => {
  await using folder = await createCheckout();
  await using product = await startEmbedded();
  const [, lines = ''] = /^Try:\n([^]*)/m.exec(product.process.output()) ?? [];
  const commands = lines.split('\n').filter((line) => line.trim() !== '');
  assert.equal(commands.length, 3);
  for (const command of commands) assert.equal((await runDocumented(product, folder.path, command)).code, 0, command);
});
