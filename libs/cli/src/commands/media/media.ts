import { readFile, writeFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { group, type CommandContext } from '../../arguments/command-group.ts';
import { getText } from '../../arguments/flags.ts';
import { Failure, wrongUsage } from '../../output/failure.ts';
import { print, printAs, remark } from '../../output/output.ts';
import { self } from '../../server/installation.ts';
import { systemCode } from '../../server/rpc-failure.ts';
import { showProgress } from './progress-bar.ts';

/** Base64 of a file must fit one call. */
const MAX_FILE_BYTES = 5_500_000;
/** Files that the server has or fetches itself. */
const REMOTE = /^(?:https?:\/\/|\/media\/|blob_)/;
const EXTENSIONS: Readonly<Record<string, string>> = {
  'audio/ogg': 'ogg',
  'audio/mpeg': 'mp3',
  'audio/aac': 'aac',
  'audio/flac': 'flac',
  'audio/wav': 'wav',
  'audio/pcm': 'pcm',
};

async function transcribe({ call, flags, output }: CommandContext, file: string): Promise<void> {
  const language = getText(flags, 'language', 'language');
  const answer = await showProgress(`Transcribing ${basename(file)}`, async () =>
    REMOTE.test(file)
      ? call('media.transcribe', { attachment_url: file, ...language })
      : call('audio.transcribe', { audio: await readBase64(file), ...language }),
  );
  if ('error' in answer) throw new Failure(`${file} was not transcribed: ${answer.error}`, `${self()} doctor`);
  if (output !== 'table') printAs(output, answer);
  else print(`${answer.text}\n`);
}

async function describe({ call, flags, output }: CommandContext, file: string): Promise<void> {
  const prompt = getText(flags, 'prompt', 'prompt');
  const answer = await showProgress(`Describing ${basename(file)}`, async () =>
    /\.(?:mp4|mov|webm|mkv|avi)$/i.test(file) && REMOTE.test(file)
      ? call('media.describe_video', { attachment_url: file, ...prompt })
      : call('image.analyze', {
          ...(REMOTE.test(file)
            ? { source: file, source_type: 'url' as const }
            : { source: await readBase64(file), source_type: 'base64' as const }),
          ...prompt,
        }),
  );
  if (output !== 'table') printAs(output, answer);
  else print(`${answer.description}\n`);
}

async function extract({ call, output }: CommandContext, file: string): Promise<void> {
  const answer = await showProgress(`Reading ${basename(file)}`, async () =>
    REMOTE.test(file)
      ? call('media.extract_document', { attachment_url: file })
      : call('media.test.document', { file_path: basename(file), content: await readBase64(file) }),
  );
  if (output !== 'table') return printAs(output, answer);
  print(`${answer.text}\n`);
  if (answer.notice === 'scanned') remark('The pages are pictures without text.');
  if (answer.truncated) remark('The text was cut at the limits of media.documentExtraction.');
}

async function speak({ call, flags, output }: CommandContext, file: string): Promise<void> {
  const text = file === '-' ? (await buffer(process.stdin)).toString('utf8') : (await read(file)).toString('utf8');
  if (text.trim() === '') throw wrongUsage('The text is empty.', `${self()} media speak --help`);
  const answer = await showProgress(`Speaking ${file === '-' ? 'the input' : basename(file)}`, () =>
    call('media.test.tts', { text, ...getText(flags, 'voice', 'voice') }),
  );
  const name = file === '-' ? 'speech' : basename(file, extname(file));
  const out = flags.out ?? `${name}.${EXTENSIONS[answer.mimeType] ?? 'bin'}`;
  await writeFile(out, Buffer.from(answer.audio, 'base64'));
  const { audio: _audio, ...facts } = answer;
  if (output !== 'table') printAs(output, { file: out, ...facts });
  else print(`${out}: ${answer.sizeBytes} bytes of ${answer.mimeType}, ${answer.provider}/${answer.model ?? ''}, voice ${answer.voice}\n`);
}

async function readBase64(file: string): Promise<string> {
  const bytes = await read(file);
  if (bytes.length === 0) throw wrongUsage(`${file} is empty.`, `${self()} media --help`);
  if (bytes.length > MAX_FILE_BYTES) {
    throw new Failure(`${file} has ${bytes.length} bytes; at most ${MAX_FILE_BYTES} can be sent.`, `${self()} media --help`);
  }
  return bytes.toString('base64');
}

async function read(file: string): Promise<Buffer> {
  return readFile(file).catch((error: unknown) => {
    throw wrongUsage(`${file} cannot be read (${systemCode(error) ?? 'unknown error'}).`, `${self()} media --help`);
  });
}

export const media = group({
  name: 'media',
  about: 'Transcribes speech, describes pictures, extracts documents and speaks texts. A file is a path here, an address, or /media/<id>.',
  verbs: {
    transcribe: { takes: '<file>', about: 'prints the text of a sound file', flags: ['language'], run: transcribe },
    describe: { takes: '<file>', about: 'describes an image, or the video at an address', flags: ['prompt'], run: describe },
    extract: { takes: '<file>', about: 'prints a document as Markdown', run: extract },
    speak: { takes: '<file>', about: 'speaks a text file into a sound file; - reads standard input', flags: ['voice', 'out'], run: speak },
  },
  flags: {
    language: { value: 'tag', about: 'transcribe: language of the speech; detected by default' },
    prompt: { value: 'text', about: 'describe: what to look for' },
    voice: { value: 'name', about: 'speak: voice of the provider' },
    out: { value: 'file', about: 'speak: file to write; default: the name of the text with the extension of the sound' },
  },
  examples: ['media transcribe note.ogg', 'media extract plan.pdf', 'media speak greeting.md --voice nova'],
});
