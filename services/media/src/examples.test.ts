import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { publicMethods, type MethodName, type MethodSpec } from '@switchyard/contracts';
import { encodeWav } from '@switchyard/models';
import type { TestService } from '@switchyard/testkit';
import { hasFfmpeg } from './conversion/ffmpeg.ts';
import { serveOutside, serveFiles, testMedia, type Outside } from './media.fixture.ts';

const WAV = Buffer.from(encodeWav(new Int16Array(2_400), 24_000));
/** The first box of an MP4 file, which decides its type. */
const MP4 = Buffer.from('000000186674797069736f6d0000020069736f6d69736f32', 'hex');
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=', 'base64');
const PAGE = '<!doctype html><title>Example Domain</title><p>For use in illustrative examples.</p>';

let outside: Outside;
let app: TestService;
before(async () => {
  const files = { '/': PAGE, '/note.ogg': WAV, '/yard.mp4': MP4, '/yard.png': PNG, '/timetable.pdf': PAGE };
  outside = await serveOutside(['example.com'], serveFiles(files));
  app = await testMedia({ files: { 'documents/timetable.txt': Buffer.from('Departures'), 'media/yard.png': PNG } });
});
after(async () => {
  await app[Symbol.asyncDispose]();
  await outside[Symbol.asyncDispose]();
});

/** The base64 of the examples stands for audio. */
const withAudio = (params: unknown): unknown =>
  'audio' in (params as object) ? { ...(params as object), audio: WAV.toString('base64') } : params;

for (const { name, spec } of [...publicMethods.values()].filter(({ service }) => service === 'media')) {
  test(`${name} answers its first example with the declared result`, { timeout: 60_000 }, async () => {
    const { examples, result } = spec as MethodSpec;
    const call = (): Promise<unknown> =>
      (app.bus.call as (method: MethodName, params: unknown) => Promise<unknown>)(name as MethodName, withAudio(examples[0]?.params));
    if (name === 'tts.synthesize' && !hasFfmpeg()) {
      // The example asks for MP3, and the development model makes WAV.
      await assert.rejects(call(), { message: /needs ffmpeg\. Install the package ffmpeg\./ });
      return;
    }
    const answer = await call();
    assert.equal(result.safeParse(answer).error, undefined, JSON.stringify(answer).slice(0, 500));
    const missing = Object.keys(examples[0]?.result as object).filter((field) => !(field in (answer as object)));
    // The development models know no language, and a page has no pages.
    assert.deepEqual(
      missing.filter((field) => !['language', 'pageCount', 'fileName'].includes(field)),
      [],
      JSON.stringify(answer).slice(0, 500),
    );
  });
}
