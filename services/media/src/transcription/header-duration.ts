import { readWavDurationMs } from '@switchyard/models';

const OPUS_RATE = 48_000;
const OGG_HEADER_BYTES = 27;
/** An Ogg page has at most this many bytes, so that the last page begins behind this distance from the end. */
const MAX_OGG_PAGE_BYTES = 65_307;
const FLAC_INFO_BYTES = 42;

/**
 * Reads the duration of a sound in seconds from its headers, without decoding it: WAV, FLAC and Ogg/Opus. Undefined for other files. Silence
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
