import { spawnSync } from 'node:child_process';
import { ServiceError } from '@switchyard/contracts';
import { explainNoChildren, requireChildren } from '../processes/child-permission.ts';
import { runChild, type ChildRun } from '../processes/child-run.ts';
import { findProgram } from '../processes/find-program.ts';
import { writeUnlinkedFile } from './unlinked-file.ts';

/** Told wherever ffmpeg is missing. */
export const NO_FFMPEG = 'Install the package ffmpeg.';

/** Sound of 4 hours, the longest that is accepted, takes 15 s of CPU time. */
const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
const MAX_REPORT_BYTES = 4 * 1024 * 1024;
/** Nothing but the pipes: no files, and no addresses, which playlists could name. */
const ONLY_PIPES = ['-protocol_whitelist', 'pipe,fd'];
/** The index of an MP4 file may be at its end, so that ffmpeg must seek. This demuxer opens no other file. */
const MP4_INPUT = ['-protocol_whitelist', 'file', '-f', 'mov', '-i', '/dev/fd/3'];

let found: { path: string | undefined } | undefined;

/** The path of ffmpeg if it is installed and runs. Asked once in the life of a process. */
function findFfmpeg(): string | undefined {
  if (found !== undefined) return found.path;
  const path = explainNoChildren() === undefined ? findProgram('ffmpeg') : undefined;
  const runs = path !== undefined && spawnSync(path, ['-version'], { stdio: 'ignore', timeout: 5_000 }).status === 0;
  found = { path: runs ? path : undefined };
  return found.path;
}

export function hasFfmpeg(): boolean {
  return findFfmpeg() !== undefined;
}

function requireFfmpeg(): string {
  requireChildren();
  const path = findFfmpeg();
  if (path !== undefined) return path;
  throw new ServiceError('FAILED_PRECONDITION', `converting media needs ffmpeg. ${NO_FFMPEG}`, {
    details: { reason: 'FFMPEG_NOT_INSTALLED' },
  });
}

export interface ConvertOptions {
  /** Arguments before the input, such as its format. */
  input?: readonly string[];
  /** Arguments of the output. */
  output: readonly string[];
  signal: AbortSignal;
  /** ffmpeg is killed after this time; default: 60 s. */
  timeoutMs?: number;
}

/** Converts audio. The result is written to a pipe. */
export async function convertAudio(
  bytes: Uint8Array,
  { input = [], output, signal, timeoutMs }: ConvertOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const args = ['-vn', '-sn', '-dn', '-map_metadata', '-1', ...output, 'pipe:1'];
  return readOutput(await runFfmpeg(bytes, { input, output: args, signal, timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES }), 'audio');
}

export interface AnalyzeOptions {
  filter: string;
  /** Audio behind it is not decoded. */
  maxSeconds: number;
  signal: AbortSignal;
  /** ffmpeg is killed after this time; default: 60 s. */
  timeoutMs?: number;
}

/** Decodes audio through a filter, writes no file, and returns what ffmpeg reports. */
export async function analyzeAudio(bytes: Uint8Array, { filter, maxSeconds, signal, timeoutMs }: AnalyzeOptions): Promise<string> {
  const output = ['-vn', '-af', filter, '-t', String(maxSeconds), '-f', 'null', '-'];
  const result = await runFfmpeg(bytes, { input: [], output, signal, timeoutMs, maxOutputBytes: MAX_REPORT_BYTES, isReport: true });
  if ('output' in result) return result.output.toString('utf8');
  if (result.ended === 'timed_out') throw tookTooLong('audio');
  throw new ServiceError('INVALID_ARGUMENT', 'the audio cannot be decoded', { details: { reason: 'AUDIO_DAMAGED' } });
}

/** Converts the first picture of an image to PNG. */
export async function convertImage(
  bytes: Uint8Array,
  { input = [], signal }: Omit<ConvertOptions, 'output'>,
): Promise<Uint8Array<ArrayBuffer>> {
  const output = ['-frames:v', '1', '-f', 'image2pipe', '-c:v', 'png', 'pipe:1'];
  return readOutput(await runFfmpeg(bytes, { input, output, signal, maxOutputBytes: MAX_OUTPUT_BYTES }), 'image');
}

interface FfmpegRun extends Required<Omit<ConvertOptions, 'timeoutMs'>> {
  timeoutMs?: number | undefined;
  maxOutputBytes: number;
  /** Returns the report of ffmpeg instead of its output. */
  isReport?: boolean;
}

async function runFfmpeg(
  bytes: Uint8Array,
  { input, output, signal, timeoutMs = TIMEOUT_MS, maxOutputBytes, isReport = false }: FfmpegRun,
): Promise<ChildRun> {
  const ffmpeg = requireFfmpeg();
  using file = input.length === 0 && isMp4(bytes) ? await writeUnlinkedFile(bytes) : undefined;
  const source = file === undefined ? [...ONLY_PIPES, ...input, '-i', 'pipe:0'] : MP4_INPUT;
  const args = ['-hide_banner', ...(isReport ? [] : ['-loglevel', 'error']), '-nostdin', ...source, ...output];
  // The report goes to the standard error of ffmpeg; the shell turns it around, because only output is kept whole.
  const command = isReport ? { command: '/bin/sh', args: ['-c', 'exec "$0" "$@" 2>&1', ffmpeg, ...args] } : { command: ffmpeg, args };
  return await runChild({
    ...command,
    input: file === undefined ? [bytes] : [],
    descriptors: file === undefined ? [] : [file.descriptor],
    signal,
    timeoutMs,
    maxOutputBytes,
  });
}

/** Whether a file begins as MP4, M4A or QuickTime. */
function isMp4(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(4, 8)).toString('latin1') === 'ftyp';
}

function readOutput(result: ChildRun, subject: 'audio' | 'image'): Uint8Array<ArrayBuffer> {
  if ('output' in result && result.output.length > 0) return new Uint8Array(result.output);
  if ('ended' in result && result.ended === 'timed_out') throw tookTooLong(subject);
  const [line = ''] = 'stderr' in result ? result.stderr.split('\n') : [];
  const reason = subject === 'audio' ? 'AUDIO_DAMAGED' : 'IMAGE_DAMAGED';
  throw new ServiceError('INVALID_ARGUMENT', `the ${subject} cannot be converted: ${line.trim() || 'ffmpeg was stopped at a limit'}`, {
    details: { reason },
  });
}

function tookTooLong(subject: 'audio' | 'image'): ServiceError {
  const message = `converting the ${subject} took too long, so ffmpeg was stopped: send a shorter one, or one in a common format`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: subject === 'audio' ? 'AUDIO_TIMEOUT' : 'IMAGE_TIMEOUT' } });
}
