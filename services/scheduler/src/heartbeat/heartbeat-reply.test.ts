import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasTasks } from './heartbeat-file.ts';
import { readReply } from './heartbeat-reply.ts';

test('readReply finds the token at either end with up to four trailing characters', () => {
  const cases: [reply: string, level: string, text: string][] = [
    ['HEARTBEAT_OK', 'ok', ''],
    ['  HEARTBEAT_OK.\n', 'ok', ''],
    ['**HEARTBEAT_OK**', 'ok', '**'],
    ['HEARTBEAT_OK All disks are fine.', 'ok', '. All disks are fine.'.slice(2)],
    ['All is well. HEARTBEAT_OK!!!!', 'ok', 'All is well.'],
    ['All is well. HEARTBEAT_OK!!!!!', 'alert', 'All is well. HEARTBEAT_OK!!!!!'],
    ['HEARTBEAT_OKAY', 'alert', 'HEARTBEAT_OKAY'],
    ['NOHEARTBEAT_OK', 'alert', 'NOHEARTBEAT_OK'],
    ['I say HEARTBEAT_OK if nothing is wrong.', 'alert', 'I say HEARTBEAT_OK if nothing is wrong.'],
    ['', 'alert', ''],
    ['CRITICAL: the disk is full', 'critical', 'CRITICAL: the disk is full'],
    ['EMERGENCY HEARTBEAT_OK', 'critical', 'EMERGENCY'],
    ['critically low', 'alert', 'critically low'],
  ];
  for (const [reply, level, text] of cases) {
    const read = readReply(reply);
    assert.deepEqual([reply, read.level, read.text], [reply, level, text]);
  }
});

test('a token with more text than ackMaxChars is an alert', () => {
  const text = 'x'.repeat(301);
  assert.equal(readReply(`HEARTBEAT_OK ${text.slice(1)}`).level, 'ok');
  assert.deepEqual(readReply(`HEARTBEAT_OK ${text}`), { level: 'alert', text, hasMedia: false });
  assert.equal(readReply('HEARTBEAT_OK abc', 2).level, 'alert');
});

test('readReply and hasTasks are linear in hostile input', { timeout: 5_000 }, () => {
  const size = 200_000;
  for (const part of ['HEARTBEAT_OK', ' ', 'CRITICAL', '.', 'MEDIA: ', 'MEDIA:\n', '<!--', '-', '# ', '- [ ] ', '\n \t'])
    for (const end of ['', 'x', '-->']) {
      readReply(part.repeat(size / part.length) + end);
      hasTasks(part.repeat(size / part.length) + end);
    }
});

test('hasTasks ignores headings, comments, blank lines and empty list items', () => {
  const empty = ['', '\n\n', '# Tasks\n\n## Later', '#', '<!-- nothing\nyet -->', '- [ ]\n-\n* ', '---', '<!-- without an end'];
  for (const content of empty) assert.equal(hasTasks(content), false, content);
  const tasks = ['check the disks', '# Tasks\n- check', '- [ ] check', '<!-- a --> check <!-- b -->', '#tag'];
  for (const content of tasks) assert.equal(hasTasks(content), true, content);
});
