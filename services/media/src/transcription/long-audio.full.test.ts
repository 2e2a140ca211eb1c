import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { createSource, putBlob } from '@switchyard/blob';
import { principal, startMediaUpstream } from '@switchyard/testkit';
import { hasFfmpeg } from '../conversion/ffmpeg.ts';
import { testMedia } from '../media.fixture.ts';
import { readHeaderSeconds } from './header-duration.ts';
import { readUploadedFile } from './uploaded-file.fixture.ts';

const OPTIONS = { timeout: 180_000, skip: !hasFfmpeg() && 'ffmpeg is not installed' };
const MAX_BUFFER = { maxBuffer: 50_000_000 };

test('a recording of 45 minutes is cut at its pauses, and the transcripts are joined', OPTIONS, async () => {
  await using upstream = await startMediaUpstream({ transcript: 'A part.' });
  await using app = await testMedia({ env: { OPENAI_BASE_URL: `${upstream.origin}/v1` } });
  // A tone of 19 minutes before each pause of a second.
  const tone = "aevalsrc='if(lt(mod(t,1141),1140),0.3*sin(2*PI*440*t),0)':s=8000:d=2700";
  const long = execFileSync(
    'ffmpeg',
    ['-loglevel', 'error', '-f', 'lavfi', '-i', tone, '-c:a', 'flac', '-f', 'flac', 'pipe:1'],
    MAX_BUFFER,
  );
  const blobs = (await app.host.blobs()).for(principal());
  const { id } = await putBlob(blobs, createSource(long), { contentType: 'audio/wav' });
  const { text, durationMs } = await app.bus.call('media.transcribe', { attachment_url: `/media/${id}` });
  assert.deepEqual([text, durationMs], ['A part. A part. A part.', 6_000]);
  const lengths = upstream.requests.map(({ body }) => readHeaderSeconds(readUploadedFile(body).bytes) ?? 0);
  assert.deepEqual(
    lengths.map((seconds) => Math.round(seconds / 10)),
    [114, 114, 42],
  );
  assert.ok(upstream.requests.every(({ body }) => body.length < 25_000_000));
});
