import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeWav } from '@switchyard/models';
import { createFlac } from './flac-file.fixture.ts';
import { readHeaderSeconds } from './header-duration.ts';

const RATE = 8_000;

/** A page of Ogg/Opus that ends at this sample. */
function createOggPage(position: bigint, data: string): Buffer {
  const page = Buffer.alloc(28);
  page.write('OggS');
  page.writeBigInt64LE(position, 6);
  page.writeUInt8(1, 26);
  page.writeUInt8(data.length, 27);
  return Buffer.concat([page, Buffer.from(data)]);
}

test('reads the duration of WAV, FLAC and Ogg/Opus from their headers', () => {
  assert.equal(readHeaderSeconds(encodeWav(new Int16Array(RATE * 3), RATE)), 3);
  assert.equal(readHeaderSeconds(createFlac(RATE * 3_600 * 20, RATE)), 72_000);
  assert.equal(readHeaderSeconds(createFlac(RATE * 3_600 * 200, RATE)), 720_000, 'more samples than 32 bits');
  const opus = Buffer.concat([createOggPage(0n, 'OpusHead'), createOggPage(480_000n, 'sound')]);
  assert.equal(readHeaderSeconds(opus), 10);
});

test('counts the frames of AMR, of both bandwidths and all sizes, and stops above the longest sound', () => {
  const narrow = [0x04, 0x3c, 0x44, 0x7c].map((mode, at) => Buffer.concat([Buffer.from([mode]), Buffer.alloc([12, 31, 5, 0][at] ?? 0)]));
  assert.equal(readHeaderSeconds(Buffer.concat([Buffer.from('#!AMR\n'), ...narrow])), 0.08);
  const wide = [0x04, 0x44, 0x4c, 0x7c].map((mode, at) => Buffer.concat([Buffer.from([mode]), Buffer.alloc([17, 60, 5, 0][at] ?? 0)]));
  assert.equal(readHeaderSeconds(Buffer.concat([Buffer.from('#!AMR-WB\n'), ...wide])), 0.08);
  assert.equal(readHeaderSeconds(Buffer.concat([Buffer.from('#!AMR\n'), Buffer.alloc(5_000_000, 0x7c)])), 20_000);
  assert.equal(readHeaderSeconds(Buffer.from('#!AMR_MC1.0\n and more')), undefined);
});

test('leaves the duration of other and cut files open', () => {
  for (const file of [
    Buffer.from('ID3 and more'),
    Buffer.from('fLaC'),
    createFlac(0, RATE),
    createOggPage(960n, 'vorbis'),
    Buffer.alloc(0),
  ])
    assert.equal(readHeaderSeconds(file), undefined, file.toString('latin1', 0, 4));
  const unfinished = Buffer.concat([createOggPage(0n, 'OpusHead'), createOggPage(-1n, 'sound')]);
  assert.equal(readHeaderSeconds(unfinished), undefined);
});
