import { encodeWav } from '@switchyard/models';
import { convertAudio } from '../../services/media/src/conversion/ffmpeg.ts';
import { testMedia } from '../../services/media/src/media.fixture.ts';
import { countFound } from '../documents/word-recall.ts';
import { measureSpeech } from './measure-speech.ts';
import { addPrograms, installSpeech, startSpeechServer } from './speech-server.ts';

/**
 * Real speech, end to end (`make test-speech`): espeak-ng speaks, a small Whisper model listens, and the media service is between them. The
 * share of words that come back is checked for each kind of voice note, and the time of a call is compared with a direct call.
 */
const SENTENCES = [
  'Good morning. The weather is very nice today, and the children are playing in the garden.',
  'Please send the report to my office before the meeting starts tomorrow afternoon.',
  'We are going to visit our friends in London next weekend, if the train is on time.',
];
/** A small model hears some words of a synthetic voice wrongly. */
const MIN_RECALL = 0.75;
const SILENCE_SECONDS = 3;
const SAMPLE_RATE = 16_000;

/** Arguments of ffmpeg for the voice notes of messengers. */
const NOTES: Readonly<Record<string, readonly string[]>> = {
  'Ogg/Opus': ['-c:a', 'libopus', '-ar', '48000', '-f', 'ogg'],
  WebM: ['-c:a', 'libopus', '-ar', '48000', '-f', 'webm'],
  AMR: ['-c:a', 'libopencore_amrnb', '-ar', '8000', '-ac', '1', '-b:a', '12.2k', '-f', 'amr'],
  MP3: ['-c:a', 'libmp3lame', '-f', 'mp3'],
};

const reason = installSpeech();
if (reason === undefined) process.exitCode = (await run()) ? 0 : 1;
else console.log(`skipped: ${reason}`);

async function run(): Promise<boolean> {
  addPrograms();
  await using server = await startSpeechServer();
  await using app = await testMedia({ env: { OPENAI_BASE_URL: server.url } });
  const { signal } = new AbortController();
  const results: { name: string; recall: number }[] = [];

  async function check(name: string, sound: Uint8Array, expected: string): Promise<void> {
    const result = await app.bus.call('audio.transcribe', { audio: Buffer.from(sound).toString('base64') });
    const text = 'text' in result ? result.text : `failed: ${result.error}`;
    const { found, words } = countFound(text, expected);
    results.push({ name, recall: found / words });
    console.log(`${(found / words).toFixed(2)}  ${name}: ${text}`);
  }

  const spoken: Uint8Array[] = [];
  for (const text of SENTENCES) {
    const response = await fetch(`${server.url}/audio/speech`, { method: 'POST', body: JSON.stringify({ input: text }) });
    const sound = new Uint8Array(await response.arrayBuffer());
    spoken.push(sound);
    await check('WAV', sound, text);
  }
  const [text = '', sound = new Uint8Array()] = [SENTENCES[0], spoken[0]];
  for (const [name, output] of Object.entries(NOTES)) await check(name, await convertAudio(sound, { output, signal }), text);

  // The voice of the product, which converts the sound of the server to Opus.
  const speech = await app.bus.call('tts.synthesize', { text: `**${text}**`, format: 'opus' });
  const heard = await app.bus.call('media.transcribe', { attachment_url: speech.filePath });
  const { found, words } = countFound(heard.text, text);
  results.push({ name: 'tts.synthesize', recall: found / words });
  console.log(`${(found / words).toFixed(2)}  tts.synthesize (${speech.mimeType}): ${heard.text}`);

  const silence = encodeWav(new Int16Array(SAMPLE_RATE * SILENCE_SECONDS), SAMPLE_RATE);
  const quiet = await app.bus.call('audio.transcribe', { audio: Buffer.from(silence).toString('base64') });
  console.log(`      silence: ${JSON.stringify(quiet)}`);

  const failed = results.filter(({ recall }) => !(recall >= MIN_RECALL));
  for (const { name, recall } of failed) console.error(`${name}: only ${recall.toFixed(2)} of the words came back`);
  await measureSpeech({ app, url: server.url, sounds: spoken, text: SENTENCES.join(' ') });
  return failed.length === 0;
}
