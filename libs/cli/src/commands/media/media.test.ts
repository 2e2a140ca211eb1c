import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { runCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';
import { formatBar } from './progress-bar.ts';

const media = (url: string, cwd: string, ...args: string[]) =>
  runCommand(['media', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

const document = { text: '# Plan', mimeType: 'text/markdown', extractedChars: 6, truncated: false, durationMs: 4 };
const speech = {
  audio: Buffer.from('sound').toString('base64'),
  mimeType: 'audio/wav',
  sizeBytes: 5,
  provider: 'dev',
  voice: 'nova',
  model: 'tts',
};

test('sends the bytes of local files and the addresses of others', async () => {
  await using folder = await tempDir();
  for (const name of ['note.ogg', 'yard.png', 'plan.pdf']) writeFileSync(join(folder.path, name), name);
  const calls: Call[] = [];
  const answers: Record<string, unknown> = {
    'audio.transcribe': { text: 'Nine.' },
    'media.transcribe': { text: 'Ten.' },
    'image.analyze': { description: 'A yard.', provider: 'dev', model: 'vision' },
    'media.test.document': document,
    'media.extract_document': document,
  };
  await using server = await startServer({ call: (call) => (calls.push(call), answers[call.method]) });
  const run = async (...args: string[]): Promise<string> => (await media(server.url, folder.path, ...args)).stdout;
  assert.equal(await run('transcribe', 'note.ogg', '--language', 'en'), 'Nine.\n');
  assert.equal(await run('transcribe', 'http://yard.example/note.ogg'), 'Ten.\n');
  assert.equal(await run('describe', 'yard.png'), 'A yard.\n');
  assert.equal(await run('extract', 'plan.pdf'), '# Plan\n');
  assert.equal(await run('extract', '/media/blob_1'), '# Plan\n');
  const base64 = (name: string): string => Buffer.from(name).toString('base64');
  assert.deepEqual(
    calls.map(({ params }) => params),
    [
      { audio: base64('note.ogg'), language: 'en' },
      { attachment_url: 'http://yard.example/note.ogg' },
      { source: base64('yard.png'), source_type: 'base64' },
      { file_path: 'plan.pdf', content: base64('plan.pdf') },
      { attachment_url: '/media/blob_1' },
    ],
  );
});

test('speak writes the sound file beside its text', async () => {
  await using folder = await tempDir();
  writeFileSync(join(folder.path, 'greeting.md'), 'Hello');
  await using server = await startServer({ call: () => speech });
  const { code, stdout } = await media(server.url, folder.path, 'speak', 'greeting.md', '--voice', 'nova');
  assert.deepEqual([code, stdout], [0, 'greeting.wav: 5 bytes of audio/wav, dev/tts, voice nova\n']);
  assert.equal(readFileSync(join(folder.path, 'greeting.wav'), 'utf8'), 'sound');
});

test('fails for a file that is missing, and for a transcription without a text', async () => {
  await using folder = await tempDir();
  writeFileSync(join(folder.path, 'note.ogg'), 'x');
  await using server = await startServer({ call: () => ({ error: 'expected audio, got bytes of no known format' }) });
  const missing = await media(server.url, folder.path, 'extract', 'nothing.pdf');
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /nothing\.pdf cannot be read \(ENOENT\)/);
  const failed = await media(server.url, folder.path, 'transcribe', 'note.ogg');
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /note\.ogg was not transcribed: expected audio/);
});

test('the block of the bar moves to the end and back', () => {
  assert.equal(formatBar(0), `[█████${'·'.repeat(15)}]`);
  assert.equal(formatBar(15), `[${'·'.repeat(15)}█████]`);
  assert.equal(formatBar(29), formatBar(1));
});
