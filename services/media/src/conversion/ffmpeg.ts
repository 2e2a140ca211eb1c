import { spawnSync } from 'node:child_process';
import { ServiceError } from '@switchyard/contracts';
import { explainNoChildren, requireChildren } from '../processes/child-permission.ts';
import { runChild } from '../processes/child-run.ts';

/** Told wherever ffmpeg is missing. */
export const NO_FFMPEG = 'Install the package ffmpeg.';

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
const MAX_REPORT_BYTES = 4 * 1024 * 1024;
/** Nothing but the pipes: no files, and no addresses, which playlists could name. */
const ONLY_PIPES = ['-hide_banner', '-loglevel', 'error', '-nostdin', '-protocol_whitelist', 'pipe,fd'];

let found: boolean | undefined;

/** Whether ffmpeg is installed. Asked once in the life of a process. */
export function hasFfmpeg(): boolean {
  found ??= explainNoChildren() === undefined && spawnSync('ffmpeg', ['-version'], { stdio: 'ignore', timeout: 5_000 }).status === 0;
  return found;
}

export interface ConvertOptions {
  /** Arguments before the input, such as its format. */
  input?: readonly string[];
  /** Arguments of the output. */
  output: readonly string[];
  signal: AbortSignal;
}

/** Converts audio from pipe to pipe. */
export async function convertAudio(bytes: Uint8Array, { input = [], output, signal }: ConvertOptions): Promise<Uint8Array<ArrayBuffer>> {
  const args = [...input, '-i', 'pipe:0', '-vn', '-sn', '-dn', '-map_metadata', '-1', ...output, 'pipe:1'];
  return run(bytes, { args, signal, subject: 'audio' });
}

/** Decodes audio through a filter, writes no file, and returns what ffmpeg reports. */
export async function analyzeAudio(bytes: Uint8Array, { filter, signal }: { filter: string; signal: AbortSignal }): Promise<string> {
  requireChildren();
  const args = ['-hide_banner', '-nostdin', '-protocol_whitelist', 'pipe,fd', '-i', 'pipe:0', '-vn', '-af', filter, '-f', 'null', '-'];
  // The report goes to the standard error of ffmpeg; the shell turns it around, because only output is kept whole.
  const command = ['-c', 'exec ffmpeg "$@" 2>&1', 'ffmpeg', ...args];
  const result = await runChild({
    command: '/bin/sh',
    args: command,
    input: [bytes],
    signal,
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: MAX_REPORT_BYTES,
  });
  if ('output' in result) return result.output.toString('utf8');
  throw new ServiceError('INVALID_ARGUMENT', 'the audio cannot be decoded', { details: { reason: 'AUDIO_DAMAGED' } });
}

/** Converts the first picture of an image to PNG. */
export async function convertImage(bytes: Uint8Array, { input, signal }: Omit<ConvertOptions, 'output'>): Promise<Uint8Array<ArrayBuffer>> {
  const args = [...(input ?? []), '-i', 'pipe:0', '-frames:v', '1', '-f', 'image2pipe', '-c:v', 'png', 'pipe:1'];
  return run(bytes, { args, signal, subject: 'image' });
}

async function run(
  bytes: Uint8Array,
  { args, signal, subject }: { args: readonly string[]; signal: AbortSignal; subject: 'audio' | 'image' },
): Promise<Uint8Array<ArrayBuffer>> {
  requireChildren();
  const result = await runChild({
    command: 'ffmpeg',
    args: [...ONLY_PIPES, ...args],
    input: [bytes],
    signal,
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
  });
  if ('output' in result && result.output.length > 0) return new Uint8Array(result.output);
  const [line = ''] = 'stderr' in result ? result.stderr.split('\n') : [];
  const reason = subject === 'audio' ? 'AUDIO_DAMAGED' : 'IMAGE_DAMAGED';
  throw new ServiceError('INVALID_ARGUMENT', `the ${subject} cannot be converted: ${line.trim() || 'ffmpeg was stopped at a limit'}`, {
    details: { reason },
  });
}
