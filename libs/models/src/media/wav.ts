const HEADER_BYTES = 44;
const BYTES_PER_SAMPLE = 2;
const PCM = 1;

/** Encodes mono samples as a WAV file of 16-bit PCM. */
export function encodeWav(samples: Int16Array, sampleRate: number): Uint8Array<ArrayBuffer> {
  const dataBytes = samples.length * BYTES_PER_SAMPLE;
  const file = new Uint8Array(HEADER_BYTES + dataBytes);
  const view = new DataView(file.buffer);
  const writeText = (at: number, text: string): void => file.set(Buffer.from(text, 'latin1'), at);
  writeText(0, 'RIFF');
  view.setUint32(4, HEADER_BYTES - 8 + dataBytes, true);
  writeText(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, PCM, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * BYTES_PER_SAMPLE, true);
  view.setUint16(32, BYTES_PER_SAMPLE, true);
  view.setUint16(34, 16, true);
  writeText(36, 'data');
  view.setUint32(40, dataBytes, true);
  for (const [at, sample] of samples.entries()) view.setInt16(HEADER_BYTES + at * BYTES_PER_SAMPLE, sample, true);
  return file;
}

/** Reads the duration from the header of a WAV file; undefined for other files and broken headers. */
export function readWavDurationMs(file: Uint8Array): number | undefined {
  if (file.length < HEADER_BYTES) return undefined;
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const readText = (at: number): string => String.fromCharCode(...file.subarray(at, at + 4));
  if (readText(0) !== 'RIFF' || readText(8) !== 'WAVE') return undefined;
  let bytesPerSecond = 0;
  for (let at = 12; at + 8 <= file.length;) {
    const size = view.getUint32(at + 4, true);
    if (readText(at) === 'fmt ' && at + 20 <= file.length) bytesPerSecond = view.getUint32(at + 16, true);
    if (readText(at) === 'data') {
      // A stream announces an unknown length as the maximum, so the real length counts.
      return bytesPerSecond === 0 ? undefined : Math.round((Math.min(size, file.length - at - 8) / bytesPerSecond) * 1_000);
    }
    at += 8 + size + (size % 2);
  }
  return undefined;
}
