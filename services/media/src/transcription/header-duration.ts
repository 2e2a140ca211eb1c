import { readWavDurationMs } from '@switchyard/models';

const OPUS_RATE = 48_000;
const OGG_HEADER_BYTES = 27;
/** An Ogg page has at most this many bytes, so that the last page begins behind this distance from the end. */
const MAX_OGG_PAGE_BYTES = 65_307;
const FLAC_INFO_BYTES = 42;
/** Bytes of an AMR frame by the mode in its first byte. Frames of the other modes are this byte alone. */
const AMR_FRAMES = [13, 14, 16, 18, 20, 21, 27, 32, 6];
const AMR_WIDEBAND_FRAMES = [18, 24, 33, 37, 41, 47, 51, 59, 61, 6];
const AMR_FRAME_SECONDS = 0.02;
/** Counting ends here, after 5.5 hours, so that a large file does not hold up the process. */
const MAX_AMR_FRAMES = 1_000_000;

/**
 * Reads the duration of a sound in seconds from its headers, without decoding it: WAV, FLAC, Ogg/Opus and AMR. Undefined for other files. Silence
 * takes hardly any bytes in some formats, so that their size says little.
 */
export function readHeaderSeconds(bytes: Uint8Array): number | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (file.toString('latin1', 0, 4)) {
    case 'RIFF':
      return toSeconds(readWavDurationMs(bytes));
    case 'fLaC':
      return readFlacSeconds(file);
    case 'OggS':
      return readOpusSeconds(file);
    case '#!AM':
      return readAmrSeconds(file);
    default:
      return undefined;
  }
}

function toSeconds(durationMs: number | undefined): number | undefined {
  return durationMs === undefined ? undefined : durationMs / 1_000;
}

/** The number of samples is optional in FLAC. */
function readFlacSeconds(file: Buffer): number | undefined {
  if (file.length < FLAC_INFO_BYTES) return undefined;
  const rate = file.readUIntBE(18, 3) >> 4;
  const samples = (file.readUInt8(21) & 0x0f) * 2 ** 32 + file.readUInt32BE(22);
  return rate === 0 || samples === 0 ? undefined : samples / rate;
}

/** The position of the last page counts the samples at 48 kHz. */
function readOpusSeconds(file: Buffer): number | undefined {
  if (!file.subarray(0, MAX_OGG_PAGE_BYTES).includes('OpusHead')) return undefined;
  const last = file.lastIndexOf('OggS');
  if (last < file.length - MAX_OGG_PAGE_BYTES || last + OGG_HEADER_BYTES > file.length) return undefined;
  const position = file.readBigInt64LE(last + 6);
  return position < 0n ? undefined : Number(position) / OPUS_RATE;
}

/** AMR has no length in its header. Each frame has its own, and lasts 20 ms. */
function readAmrSeconds(file: Buffer): number | undefined {
  const isWideband = file.toString('latin1', 0, 9) === '#!AMR-WB\n';
  if (!isWideband && file.toString('latin1', 0, 6) !== '#!AMR\n') return undefined;
  const sizes = isWideband ? AMR_WIDEBAND_FRAMES : AMR_FRAMES;
  let frames = 0;
  for (let at = isWideband ? 9 : 6; at < file.length && frames < MAX_AMR_FRAMES; frames++)
    at += sizes[(file.readUInt8(at) >> 3) & 0x0f] ?? 1;
  return frames * AMR_FRAME_SECONDS;
}
